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
			t.Errorf("%s has the digest of %s", name, was)
		}
		seen[d] = name
		if d != s.Digest() {
			t.Errorf("%s has two digests", name)
		}
	}
}

func TestWithin(t *testing.T) {
	cases := map[string]struct {
		reason string
		a, b   State
		want   bool
	}{
		"the same":      {reason: "trivially", a: small, b: small, want: true},
		"less":          {reason: "what is left out does not count", a: small, b: full, want: true},
		"more":          {reason: "it says what the other does not", a: full, b: small},
		"different":     {reason: "it says something else", a: other, b: full},
		"an empty map":  {reason: "it says nothing", a: State{"spec": map[string]any{}}, b: State{}, want: true},
		"an empty list": {reason: "it says nothing", a: State{"l": []any{}}, b: State{}, want: true},
		"a shorter list": {
			reason: "a list is wanted as a whole",
			a:      State{"l": []any{"a"}},
			b:      State{"l": []any{"a", "b"}},
		},
		"within a list": {
			reason: "what its items leave out does not count",
			a:      State{"l": []any{map[string]any{"n": "x"}}},
			b:      State{"l": []any{map[string]any{"n": "x", "p": "TCP"}}},
			want:   true,
		},
		"a map for a text": {reason: "another type", a: State{"v": map[string]any{"x": "y"}}, b: State{"v": "x"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.a.Within(tc.b); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}
