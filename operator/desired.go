// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kube-lifeline/lifeline"
)

// state is an object as JSON values, without nulls: maps, lists, strings,
// booleans, int64 and float64.
type state map[string]any

// stateOf returns the whole state of an object or apply configuration; nil if
// it is no JSON object.
func stateOf(obj any) state {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil
	}
	return parseState(text)
}

func parseState(text []byte) state {
	var m map[string]any
	if utiljson.Unmarshal(text, &m) != nil {
		return nil
	}
	dropNulls(m)
	return m
}

// dropNulls removes nulls: by the API conventions they are absent.
func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if e == nil {
				delete(v, k)
				continue
			}
			dropNulls(e)
		}
	case []any:
		for _, e := range v {
			dropNulls(e)
		}
	}
}

// desired is the part of an object's state that says what is wanted: all but
// status, bookkeeping, and contexts.
func (s state) desired() state {
	if s == nil {
		return nil
	}
	d := make(state, len(s))
	for k, v := range s {
		switch k {
		case "apiVersion", "kind", "status", "metadata":
		default:
			d[k] = v
		}
	}
	meta, _ := s["metadata"].(map[string]any)
	kept := map[string]any{}
	if labels, ok := meta["labels"].(map[string]any); ok && len(labels) > 0 {
		kept["labels"] = labels
	}
	if annotations := meaningful(meta["annotations"]); len(annotations) > 0 {
		kept["annotations"] = annotations
	}
	if len(kept) > 0 {
		d["metadata"] = kept
	}
	return d
}

// meaningful leaves out of annotations what says nothing of the desired state.
func meaningful(v any) map[string]any {
	all, _ := v.(map[string]any)
	kept := make(map[string]any, len(all))
	for k, v := range all {
		if !isContext(k) && !strings.HasPrefix(k, "deployment.kubernetes.io/") &&
			k != "kubectl.kubernetes.io/last-applied-configuration" {
			kept[k] = v
		}
	}
	return kept
}

var conventions = lifeline.Conventions()

// isContext reports whether an annotation is part of a context by any
// convention.
func isContext(key string) bool {
	return slices.ContainsFunc(conventions, func(c lifeline.Convention) bool { return c.Owns(key) })
}

// digest fingerprints a state.
func (s state) digest() lifeline.Digest {
	text, err := json.Marshal(s) // keys come out sorted
	if err != nil {
		return 0
	}
	return lifeline.DigestOf(text)
}

func (s state) equal(o state) bool { return reflect.DeepEqual(s, o) }

// within reports whether all that s says, o says too. What s leaves out, such as
// what the API server fills in, does not count.
func (s state) within(o state) bool { return within(map[string]any(s), map[string]any(o)) }

func within(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		bm, ok := b.(map[string]any)
		if !ok {
			return len(a) == 0 && b == nil
		}
		for k, v := range a {
			if !within(v, bm[k]) {
				return false
			}
		}
		return true
	case []any:
		bl, ok := b.([]any)
		if len(a) != len(bl) || !ok && b != nil {
			return false
		}
		for i := range a {
			if !within(a[i], bl[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

// at returns what stands at a path of keys; nil if nothing does.
func (s state) at(path ...string) any {
	var v any = map[string]any(s)
	for _, k := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}
