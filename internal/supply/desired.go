// SPDX-License-Identifier: Apache-2.0

package supply

import (
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kube-lifeline/lifeline"
)

// State is an object as JSON values without nulls: maps, lists, strings, booleans, int64 and
// float64.
type State map[string]any

// DropNulls removes nulls from maps, because the API conventions treat null as absent. It also
// converts whole float64 numbers to int64, so that equal numbers have one type.
func DropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			switch e := e.(type) {
			case nil:
				delete(v, k)
			case float64:
				v[k] = whole(e)
			default:
				DropNulls(e)
			}
		}
	case []any:
		for i, e := range v {
			if f, ok := e.(float64); ok {
				v[i] = whole(f)
				continue
			}
			DropNulls(e)
		}
	}
}

// whole returns f as int64 if it is a whole number with an exact representation.
func whole(f float64) any {
	if i := int64(f); f >= -1<<53 && f <= 1<<53 && float64(i) == f {
		return i
	}
	return f
}

// Tidy returns a copy of JSON values as after DropNulls. It returns false for a value that JSON
// cannot represent exactly.
func Tidy(v any) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			if e == nil {
				continue
			}
			c, ok := Tidy(e)
			if !ok {
				return nil, false
			}
			m[k] = c
		}
		return m, true
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			c, ok := Tidy(e)
			if !ok {
				return nil, false
			}
			l[i] = c
		}
		return l, true
	case float64:
		return whole(v), !math.IsNaN(v) && !math.IsInf(v, 0)
	case string:
		return v, utf8.ValidString(v)
	case nil, bool, int64:
		return v, true
	}
	return nil, false
}

// Desired returns the desired part of an object: everything except type, status, bookkeeping
// metadata and contexts. It keeps labels and other annotations.
func (s State) Desired() State {
	if s == nil {
		return nil
	}
	d := make(State, len(s))
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

// meaningful returns the annotations that are part of the desired state.
func meaningful(v any) map[string]any {
	all, _ := v.(map[string]any)
	kept := make(map[string]any, len(all))
	for k, v := range all {
		if !IsContext(k) && !strings.HasPrefix(k, "deployment.kubernetes.io/") &&
			k != "kubectl.kubernetes.io/last-applied-configuration" {
			kept[k] = v
		}
	}
	return kept
}

var conventions = lifeline.Conventions()

// IsContext reports whether an annotation belongs to a context of any convention.
func IsContext(key string) bool {
	return slices.ContainsFunc(conventions, func(c lifeline.Convention) bool { return c.Owns(key) })
}

// Digest returns the fingerprint of s.
func (s State) Digest() lifeline.Digest {
	return lifeline.DigestOf(appendValue(make([]byte, 0, 1024), map[string]any(s)))
}

// appendValue appends an unambiguous encoding of a value: equal values have equal bytes, and only
// they. Each value has a letter for its type; strings, lists and maps have a length.
func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		b = binary.AppendUvarint(append(b, 'm'), uint64(len(v)))
		keys := make([]string, 0, 16)
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			b = appendValue(appendValue(b, k), v[k])
		}
		return b
	case []any:
		b = binary.AppendUvarint(append(b, 'l'), uint64(len(v)))
		for _, e := range v {
			b = appendValue(b, e)
		}
		return b
	case string:
		b = binary.AppendUvarint(append(b, 's'), uint64(len(v)))
		return append(b, v...)
	case bool:
		return strconv.AppendBool(append(b, 'b'), v)
	case int64:
		return binary.AppendVarint(append(b, 'i'), v)
	case float64:
		return binary.BigEndian.AppendUint64(append(b, 'f'), math.Float64bits(v))
	}
	return append(b, 'n') // a null in a list
}

// Equal reports whether s and o are equal.
func (s State) Equal(o State) bool { return reflect.DeepEqual(s, o) }

// Within reports whether o contains every value of s. Values missing from s, such as defaults of
// the API server, do not count.
func (s State) Within(o State) bool { return within(map[string]any(s), map[string]any(o)) }

func within(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		bm, ok := b.(map[string]any)
		if !ok {
			return len(a) == 0 && b == nil
		}
		for k, v := range a {
			if k == "targetPort" && v == int64(0) {
				continue // an unset targetPort of a Service's port
			}
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

// At returns the value at a path of keys; nil if there is none.
func (s State) At(path ...string) any {
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
