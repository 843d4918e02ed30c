// SPDX-License-Identifier: Apache-2.0

package supply

import (
	"testing"

	"github.com/kube-lifeline/lifeline"
)

func TestDigestTellsApart(t *testing.T) {
	states := map[string]State{
		"nothing":        nil,
		"a text":         {"a": "1"},
		"a number":       {"a": int64(1)},
		"another number": {"a": 1.5},
		"true":           {"a": true},
		"false":          {"a": false},
		"text true":      {"a": "true"},
		"a list":         {"a": []any{"1"}},
		"lists":          {"a": []any{[]any{"1"}}},
		"two":            {"a": []any{"1", "2"}},
		"two in one":     {"a": []any{"12"}},
		"a map":          {"a": map[string]any{"1": "2"}},
		"a null":         {"a": []any{nil}},
		"elsewhere":      {"b": "1"},
		"both":           {"a": "1", "b": "1"},
	}
	seen := map[lifeline.Digest]string{}
	for name, s := range states {
		d := s.Digest()
		if was, twice := seen[d]; twice {
			t.Errorf("%s and %s have the same digest", name, was)
		}
		seen[d] = name
		if d != s.Digest() {
			t.Errorf("two calls return different digests of %s", name)
		}
	}
}

func TestWithin(t *testing.T) {
	cases := map[string]struct {
		reason string
		a, b   State
		want   bool
	}{
		"the same":  {reason: "equal states", a: small, b: small, want: true},
		"less":      {reason: "omitted values do not count", a: small, b: full, want: true},
		"more":      {reason: "the other lacks a value", a: full, b: small},
		"different": {reason: "a value differs", a: other, b: full},
		"an empty map": {
			reason: "an empty collection equals none",
			a:      State{"spec": map[string]any{}},
			b:      State{},
			want:   true,
		},
		"an empty list": {reason: "an empty collection equals none", a: State{"l": []any{}}, b: State{}, want: true},
		"a shorter list": {
			reason: "lists must have the same length",
			a:      State{"l": []any{"a"}},
			b:      State{"l": []any{"a", "b"}},
		},
		"within a list": {
			reason: "values omitted in list items do not count",
			a:      State{"l": []any{map[string]any{"n": "x"}}},
			b:      State{"l": []any{map[string]any{"n": "x", "p": "TCP"}}},
			want:   true,
		},
		"a map for a text": {reason: "the types differ", a: State{"v": map[string]any{"x": "y"}}, b: State{"v": "x"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.a.Within(tc.b); got != tc.want {
				t.Errorf("%s: Within = %v", tc.reason, got)
			}
		})
	}
}
