// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
)

// people are the authors in the test of fights.
var people = map[string]Author{
	"a": {User: "user-a", Component: "kubectl"},
	"b": {User: "user-b", Component: "kubectl"},
	"k": {Component: "kubectl"},
	"h": {User: "system:serviceaccount:kube-system:hpa", Component: "hpa"},
	"H": {Component: "hpa"},
	"x": {Component: "x-operator"},
	"y": {Component: "y-operator"},
	"z": {Component: "z-operator"},
	"s": {User: "system:serviceaccount:x:default", Component: "x-operator"},
	"t": {User: "system:serviceaccount:x:default", Component: "y-operator"},
	"i": {User: "user-a", Impersonator: "root", Component: "kubectl"},
	"l": {User: "system:serviceaccount:x:l", Component: "l-agent", Manager: "l-manager"},
	"m": {Component: "l-manager", Manager: "l-manager"},
	"?": {},
}

// TestContests plays writes of one object, like "x1 y2+60s x1": the author, the value of the field,
// and the time since the write before, a second otherwise. A value 0 is a removal.
func TestContests(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		writes string
		want   []string
	}{
		"Operators": {
			"the second write of the first operator undoes that of the second", "x1 y2 x1 y2 x1",
			[]string{
				"3: x-operator against y-operator, 1 in 2s",
				"4: y-operator against x-operator, 2 in 3s",
				"5: x-operator against y-operator, 3 in 4s",
			},
		},
		"People":  {"the audit log names two users", "a1 b2 a1", []string{"3: user-a against user-b, 1 in 2s"}},
		"Alone":   {"one author changes its mind", "x1 x2 x1 x2 x1 x2", nil},
		"Undone":  {"somebody else undoes a change once", "a1 a2 b1 a3", nil},
		"Two":     {"the first author wants another value", "x1 y2 x3", nil},
		"Unknown": {"an unknown author is no opponent", "x1 ?2 x1 ?2 x1", nil},
		"Between": {
			"the value of an unknown author is overwritten", "x1 y2 ?3 x1 y2",
			[]string{"5: y-operator against x-operator, 1 in 3s"},
		},
		"Other": {
			"in a fight, each write over the opponent's value counts", "x1 y2 x1 y3",
			[]string{
				"3: x-operator against y-operator, 1 in 2s",
				"4: y-operator against x-operator, 2 in 3s",
			},
		},
		"Third": {
			"the first write of a third author ends nothing and is no part", "x1 y2 x1 z3 y2",
			[]string{
				"3: x-operator against y-operator, 1 in 2s",
				"5: y-operator against z-operator, 2 in 4s",
			},
		},
		"Twice": {
			"an author may write several times in turn", "x1 y2 y3 x1",
			[]string{"4: x-operator against y-operator, 1 in 3s"},
		},
		"Removal": {
			"one adds a label, the other removes it", "x1 y0 x1 y0",
			[]string{
				"3: x-operator against y-operator, 1 in 2s",
				"4: y-operator against x-operator, 2 in 3s",
			},
		},
		"Slow": {
			"an hour between two writes is the limit", "x1 y2+1h x1+1h",
			[]string{"3: x-operator against y-operator, 1 in 2h0m0s"},
		},
		"Long ago": {"a later write is not part of it", "x1 y2 x1+61m y2", nil},
		"Log": {
			"the log has the user of some writes only", "h1 k2 H1 k2",
			[]string{
				"3: hpa against kubectl, 1 in 2s",
				"4: kubectl against hpa, 2 in 3s",
			},
		},
		"Manager": {"the log has another name for the field manager", "l1 m2 l1 m2", nil},
		"No user": {"without the log, kubectl may be one person", "a1 k2 a1 b2 k1 b2", nil},
		"Account": {
			"two programs with one service account are two authors", "s1 t2 s1",
			[]string{"3: x-operator against y-operator, 1 in 2s"},
		},
		"As": {
			"an impersonated user is another author", "a1 i2 a1",
			[]string{"3: user-a against user-a, 1 in 2s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			all, at := &Contests{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			for i, word := range strings.Fields(tc.writes) {
				word, pause, _ := strings.Cut(word, "+")
				wait, err := time.ParseDuration(pause)
				if err != nil {
					wait = time.Second
				}
				at = at.Add(wait)
				c := Claim{Author: people[word[:1]], At: at, SpanID: trace.SpanID{byte(i + 1)}}
				f := all.Clone().Write(c, []Field{{"spec.replicas", uint64(word[1] - '0')}})
				if diff := cmp.Diff(f, all.Write(c, []Field{{"spec.replicas", uint64(word[1] - '0')}})); diff != "" {
					t.Errorf("a copy gives another result: -copy +original:\n%s", diff)
				}
				if f != nil {
					got = append(got, fmt.Sprintf("%d: %s against %s, %d in %s", i+1, c.Author,
						strings.Join(f.Opponents(), ", "), f.Count, at.Sub(f.Since)))
				}
			}
			if diff := cmp.Diff(strings.Join(tc.want, "\n"), strings.Join(got, "\n")); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestContestsBounded writes many fields by many authors: the memory is bounded, and the newest
// writes are remembered.
func TestContestsBounded(t *testing.T) {
	all, at := &Contests{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	write := func(author, field int) *Fight {
		at = at.Add(time.Second)
		by := Author{Component: fmt.Sprintf("operator-%d", author)}
		return all.Write(Claim{Author: by, At: at}, []Field{{fmt.Sprintf("f%d", field), uint64(author)}})
	}
	for field := range 100 {
		for author := range 10 {
			write(author, field)
		}
	}
	if len(all.Fields) != maxContests {
		t.Errorf("%d fields are remembered, want %d", len(all.Fields), maxContests)
	}
	for _, c := range all.Fields {
		if len(c.Claims) != maxClaims {
			t.Errorf("%d authors of %s are remembered, want %d", len(c.Claims), c.Path, maxClaims)
		}
	}
	if f := write(8, 99); f == nil || f.Count != 1 {
		t.Errorf("the fight over the newest field is %+v", f)
	}
	if f := write(8, 1); f != nil {
		t.Errorf("the forgotten field is in the fight %+v", f)
	}
}

// TestContestsFields fights over two fields at a time, and names both.
func TestContestsFields(t *testing.T) {
	all, at := &Contests{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var f *Fight
	for i, v := range []uint64{1, 2, 1} {
		c := Claim{Author: Author{Component: fmt.Sprintf("operator-%d", v)}, At: at, SpanID: trace.SpanID{byte(i + 1)}}
		f = all.Write(c, []Field{{"b", v}, {"a", v}})
	}
	if f == nil {
		t.Fatal("no fight")
	}
	if diff := cmp.Diff([]string{"a", "b"}, f.Paths); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(f.Against) != 1 {
		t.Errorf("one opponent is listed %d times", len(f.Against))
	}
}
