// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"time"
	"unique"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// maxItems bounds every list from a cluster.
const maxItems = 256

// fields is a JSON object as the dynamic client decodes it. Reading a nil one is allowed, so an
// incomplete path needs no check.
type fields = map[string]any

// sub returns the object at key, or nil.
func sub(m fields, key string) fields {
	v, _ := m[key].(fields)
	return v
}

// items returns the list at key, bounded.
func items(m fields, key string) []any {
	v, _ := m[key].([]any)
	return v[:min(len(v), maxItems)]
}

// raw returns the string at key unchanged.
func raw(m fields, key string) string {
	v, _ := m[key].(string)
	return v
}

// text returns the string at key, bounded in length.
func text(m fields, key string) string { return object.Bound(raw(m, key)) }

// word returns the string at key, interned: for values that many objects share, such as a kind, a
// namespace or a reason.
func word(m fields, key string) string { return intern(raw(m, key)) }

func intern(s string) string {
	if s == "" {
		return ""
	}
	return unique.Make(object.Bound(s)).Value()
}

// words returns the strings in the list at key. If field is not empty, it returns that field of the
// list's objects.
func words(m fields, key, field string) []string {
	list := items(m, key)
	if len(list) == 0 {
		return nil
	}
	out := make([]string, 0, len(list))
	for _, v := range list {
		switch v := v.(type) {
		case string:
			out = append(out, intern(v))
		case fields:
			out = append(out, word(v, field))
		}
	}
	return out
}

// number returns the number at key, or 0.
func number(m fields, key string) int64 { return numberOr(m, key, 0) }

func numberOr(m fields, key string, missing int64) int64 {
	switch v := m[key].(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	}
	return missing
}

func truth(m fields, key string) bool {
	v, _ := m[key].(bool)
	return v
}

// moment returns the time at key, or the zero time.
func moment(m fields, key string) time.Time {
	s := raw(m, key)
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
