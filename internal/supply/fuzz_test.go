// SPDX-License-Identifier: Apache-2.0

package supply

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/kube-lifeline/lifeline"
)

// annotationsOf parses annotations from fuzzer input.
func annotationsOf(text []byte) (map[string]string, bool) {
	var m map[string]string
	return m, json.Unmarshal(text, &m) == nil
}

// FuzzSupply decides about arbitrary annotations. The writer's other annotations must stay, shared
// maps must not change, and a repeated decision must change nothing.
func FuzzSupply(f *testing.F) {
	for _, seed := range []map[string]string{
		nil, {"team": "red"}, encoded(ours(2, full)), encoded(spanOf(9)), {lifeline.ContextKey: "broken"},
		{lifeline.StateKey: "lifeline=s:00"}, encoded(ours(3, small), "a", "b"),
	} {
		text, err := json.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, text, "web", true, false)
		f.Add([]byte("{}"), text, "web", false, true)
	}
	f.Fuzz(func(t *testing.T, before, sent []byte, kind string, changes, partial bool) {
		had, ok := annotationsOf(before)
		has, okToo := annotationsOf(sent)
		if !ok || !okToo {
			return
		}
		s := rules(lifeline.Identity{Kind: kind})
		want := full
		if changes {
			want = other
		}
		frozen := maps.Clone(has)
		old := Content{Annotations: had, Desired: full, Generation: 3}
		last := Last{Carried: s.Own(had), Answered: full.Digest()}
		for name, v := range map[string]Verdict{
			"updated":  s.Updated(old, Content{Annotations: has, Desired: want}, partial),
			"created":  s.Created(Content{Annotations: has, Desired: want}, above),
			"recalled": s.Recalled(last, Content{Annotations: has, Desired: want}),
		} {
			after := s.With(has, v.Carry)
			if !maps.Equal(frozen, has) {
				t.Fatalf("%s: the shared annotations changed", name)
			}
			for k, value := range has {
				if !lifeline.Default.Owns(k) && after[k] != value {
					t.Errorf("%s: the annotation %q is missing", name, k)
				}
			}
			again := s.Updated(
				Content{Annotations: after, Desired: want, Generation: 4},
				Content{Annotations: after, Desired: want},
				partial,
			)
			if again.Context.IsValid() || !maps.Equal(after, s.With(after, again.Carry)) {
				t.Errorf("%s: a second decision differs: %v, then %v", name, after, s.With(after, again.Carry))
			}
			dropped := s.Updated(
				Content{Annotations: after, Desired: want, Generation: 4},
				Content{Desired: want},
				partial,
			)
			if dropped.Context.IsValid() || !maps.Equal(s.Own(after), s.Own(s.With(nil, dropped.Carry))) {
				t.Errorf("%s: a dropped context is not restored", name)
			}
		}
	})
}
