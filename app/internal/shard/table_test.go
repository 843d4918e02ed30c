// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

func members(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("lifeline-%d", i))
	}
	return sorted(out)
}

func TestFewNamespacesMove(t *testing.T) {
	const namespaces = 20_000
	for _, n := range []int{1, 2, 5, 20} {
		small, large := Epoch{Members: members(n)}, Epoch{Members: members(n + 1)}
		moved, wrong := 0, 0
		share := map[string]int{}
		for i := range namespaces {
			ns := fmt.Sprintf("team-%d", i)
			before, after := small.owner(ns), large.owner(ns)
			share[after]++
			if before == after {
				continue
			}
			moved++
			if after != fmt.Sprintf("lifeline-%d", n) {
				wrong++
			}
		}
		want := float64(namespaces) / float64(n+1)
		if wrong > 0 {
			t.Errorf("%d namespaces move between members that stay, when one joins %d", wrong, n)
		}
		if math.Abs(float64(moved)-want) > 0.1*want {
			t.Errorf("%d of %d namespaces move when one joins %d, want about %.0f", moved, namespaces, n, want)
		}
		for m, got := range share {
			if math.Abs(float64(got)-want) > 0.15*want {
				t.Errorf("of %d members %s has %d namespaces, want about %.0f", n+1, m, got, want)
			}
		}
	}
}

// The hash is a protocol between versions.
func TestOwnersStay(t *testing.T) {
	e := Epoch{Members: members(5)}
	got := map[string]string{}
	for _, ns := range []string{"", "default", "kube-system", "shop"} {
		got[ns] = e.owner(ns)
	}
	want := map[string]string{
		"":            "lifeline-2",
		"default":     "lifeline-0",
		"kube-system": "lifeline-4",
		"shop":        "lifeline-1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestOwner(t *testing.T) {
	both := []string{"a", "b"}
	ns := map[string]string{} // a namespace of each owner
	for i := range 50 {
		name := fmt.Sprintf("ns-%d", i)
		ns[choose(name, both)] = name
	}
	cases := map[string]struct {
		reason string
		table  Table
		ns     string
		first  uint64
		want   string
		over   bool
	}{
		"NoOwner": {reason: "without an epoch there is no owner", ns: "x", first: 7},
		"First": {
			reason: "the first epoch of all has what was before it",
			table:  Table{Epochs: []Epoch{{Members: []string{"a"}}}},
			ns:     "x",
			want:   "a",
		},
		"Boundary": {
			reason: "an epoch begins with From",
			table:  Table{Epochs: []Epoch{{Members: []string{"a"}}, {From: 10, Members: []string{"b"}}}},
			ns:     "x",
			first:  10,
			want:   "b",
		},
		"Before": {
			reason: "an earlier part stays with its owner",
			table:  Table{Epochs: []Epoch{{Members: []string{"a"}}, {From: 10, Members: []string{"b"}}}},
			ns:     "x",
			first:  9,
			want:   "a",
		},
		"Over": {
			reason: "the work of a dropped epoch is done",
			table:  Table{Epochs: []Epoch{{From: 10, Members: []string{"b"}}}},
			ns:     "x",
			first:  9,
			over:   true,
		},
		"Heir": {
			reason: "open work goes to the next of the ranking",
			table:  Table{Epochs: []Epoch{{Members: both, Gone: []Gone{{Identity: "b", Since: 5}}}}},
			ns:     ns["b"],
			first:  5,
			want:   "a",
		},
		"Finished": {
			reason: "finished work has no owner",
			table:  Table{Epochs: []Epoch{{Members: both, Gone: []Gone{{Identity: "b", Since: 5}}}}},
			ns:     ns["b"],
			first:  4,
			over:   true,
		},
		"Untouched": {
			reason: "another member's part stays",
			table:  Table{Epochs: []Epoch{{Members: both, Gone: []Gone{{Identity: "b", Since: 5}}}}},
			ns:     ns["a"],
			first:  4,
			want:   "a",
		},
		"AllGone": {
			reason: "without a member left, it goes to the next epoch",
			table: Table{
				Epochs: []Epoch{
					{Members: []string{"a"}, Gone: []Gone{{Identity: "a", Since: 3}}},
					{From: 10, Members: []string{"c"}},
				},
			},
			ns:    "x",
			first: 4,
			want:  "c",
		},
		"NoHeir": {
			reason: "without an heir, it waits",
			table:  Table{Epochs: []Epoch{{Members: []string{"a"}, Gone: []Gone{{Identity: "a", Since: 3}}}}},
			ns:     "x",
			first:  4,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got, over := c.table.Owner(c.ns, c.first); got != c.want || over != c.over {
				t.Errorf("%s: Owner() = %q, %t, want %q, %t", c.reason, got, over, c.want, c.over)
			}
		})
	}
}

func TestParts(t *testing.T) {
	e := Epoch{Members: []string{"a", "b"}}
	firsts := Firsts{}
	for i := range 10 {
		firsts[fmt.Sprintf("ns-%d", i)] = First{RV: uint64(i + 1)}
	}
	whole := traceOf("t", firsts)
	whole.Outcome, whole.Reason = span.Failed, "why"
	table := Table{Version: 1, Epochs: []Epoch{e}}
	a, b := NewView(table, "a", true).Mine(whole), NewView(table, "b", true).Mine(whole)
	if len(a.Spans) == 0 || len(b.Spans) == 0 || len(a.Spans)+len(b.Spans) != len(whole.Spans) {
		t.Fatalf("the parts have %d and %d of %d spans", len(a.Spans), len(b.Spans), len(whole.Spans))
	}
	for _, s := range a.Spans {
		if owner := e.owner(s.Object.Namespace); owner != "a" {
			t.Errorf("a has a span of %s", owner)
		}
	}
	if a.ID != whole.ID || a.Outcome != whole.Outcome || a.Reason != whole.Reason {
		t.Errorf("a part has another trace: %v", a)
	}
	if got := NewView(Table{Epochs: []Epoch{{Members: []string{"a"}}}}, "a", true).Mine(whole); got != whole {
		t.Error("a part that is the whole is not the trace itself")
	}
	if got := NewView(table, "c", true).Mine(whole); got != nil {
		t.Errorf("a member without ownership has %d spans", len(got.Spans))
	}
	if v := (View{}); v.Mine(whole) != nil || !v.Undecided(whole) {
		t.Error("without a table, something is decided")
	}
}

func TestTooManyEpochs(t *testing.T) {
	table := Table{Version: 1}
	for i := range maxEpochs {
		table.Epochs = append(table.Epochs, Epoch{ID: int64(i), From: uint64(i * 10), Members: []string{"a"}})
	}
	status := []Status{{Identity: "a"}, {Identity: "b"}}
	if next, changed := Plan(table, status); changed {
		t.Errorf("a member joins: %s", short(next))
	}
	status[0].Expired = true
	if next, changed := Plan(table, status); !changed || len(next.live()) != 0 {
		t.Errorf("a gone member stays: %s", short(next))
	}
}

func BenchmarkMine(b *testing.B) {
	firsts := Firsts{}
	for i := range 10 {
		firsts[fmt.Sprintf("ns-%d", i)] = First{RV: 100}
	}
	whole := traceOf("t", firsts)
	v := NewView(
		Table{Version: 1, Epochs: []Epoch{{Members: members(10)}, {From: 50, Members: members(11)}}},
		"lifeline-3",
		true,
	)
	for b.Loop() {
		v.Mine(whole)
	}
}
