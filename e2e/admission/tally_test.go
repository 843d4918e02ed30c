// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/stored"
	"github.com/kube-lifeline/lifeline/lab/audit"
)

// tally is how often what was stored while a scenario was played once.
//
// What the webhook could cause is a write of an object as a whole, its creation, or its removal: these are compared one
// by one. The number of a controller's writes of a status, or of the addresses of Pods, depends on the changes that it
// finds at once. A Pod that does not run yet goes with one deletion instead of two. Of these only a loop is a fault.
type tally map[where]int

// where is a place in a tally: a step, and what was done to whom: "role: verb".
type where struct {
	step int
	what string
}

// count attributes what was stored to the steps, by when it was asked for. The
// namespace's own furniture counts nowhere.
func count(sc scenario, began []time.Time, all []audit.Write) tally {
	roles, t := stored.RolesOf(all), tally{}
	for _, w := range stored.Attributed(all) {
		step, _ := slices.BinarySearchFunc(began, w.Received, time.Time.Compare)
		if step == 0 || w.Resource == "serviceaccounts" && w.Name == "default" || w.Name == "kube-root-ca.crt" {
			continue
		}
		verb := w.Verb
		if w.Subresource != "" {
			verb += " of " + w.Subresource
		}
		t[where{step - 1, roles.Of(w) + ": " + verb}]++
	}
	for i, st := range sc.steps { // what the webhook may cost it need not
		for what := range st.costs {
			t[where{i, what}] += 0
		}
	}
	return t
}

// varies reports whether controllers themselves do something now more, now less
// often.
func (w where) varies() bool {
	return strings.HasSuffix(w.what, " of status") || strings.HasPrefix(w.what, "endpoint") ||
		strings.HasPrefix(w.what, "pods ") && strings.HasSuffix(w.what, ": delete")
}

// trial is the tallies of a scenario with and without the webhook.
type trial struct {
	scenario
	plain, hooked []tally
}

// differing are the places at which the webhook makes a difference, and how.
func (tr *trial) differing() map[where]string {
	places := map[where]bool{}
	for _, all := range [][]tally{tr.plain, tr.hooked} {
		for _, one := range all {
			for at := range one {
				places[at] = true
			}
		}
	}
	out := map[where]string{}
	for at := range places {
		plain, hooked := times(tr.plain, at), times(tr.hooked, at)
		st := tr.steps[at.step]
		if why := differs(plain, hooked, st.costs[at.what], st.may[at.what], at.varies()); why != "" {
			out[at] = fmt.Sprintf(
				"%s: %s: %s (stored without: %v, with: %v)",
				tr.steps[at.step].name,
				at.what,
				why,
				plain,
				hooked,
			)
		}
	}
	return out
}

// times is how often it was in each of the tallies.
func times(all []tally, at where) (out []int) {
	for _, one := range all {
		out = append(out, one[at])
	}
	return out
}

// differs says how two rows of counts differ; empty if they do not.
//
// One count of each must be equal. If they differ, there are more runs: then the
// most frequent count with the webhook must be a most frequent count without it.
// So an occasional additional write is not a difference, and a regular one is. A
// loop is always a difference. The counts with the webhook are higher by its known
// cost, and may be higher by its possible cost.
func differs(plain, hooked []int, costs, may int, varies bool) string {
	most := slices.Max(plain) + costs + may
	if loop := 2*most + 10; slices.Max(hooked) > loop {
		return fmt.Sprintf("no end of it, more than %d", loop)
	}
	if varies {
		return ""
	}
	usual := modes(plain)
	for _, n := range modes(hooked) {
		for more := costs; more <= costs+may; more++ {
			if slices.Contains(usual, n-more) {
				return ""
			}
		}
	}
	return "another number"
}

// modes are the numbers that come most often.
func modes(all []int) (out []int) {
	times := map[int]int{}
	most := 0
	for _, n := range all {
		times[n]++
		most = max(most, times[n])
	}
	for _, n := range slices.Sorted(maps.Keys(times)) {
		if times[n] == most {
			out = append(out, n)
		}
	}
	return out
}

func sortedPlaces(m map[where]string) []where {
	return slices.SortedFunc(maps.Keys(m), func(a, b where) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.what, b.what))
	})
}

func TestDiffers(t *testing.T) {
	tests := map[string]struct {
		reason        string
		plain, hooked []int
		costs, may    int
		varies        bool
		want          bool
	}{
		"equal": {"nothing is wrong", []int{3}, []int{3}, 0, 0, false, false},
		"one more": {
			"a single extra write of a ReplicaSet is what the test is for",
			[]int{3},
			[]int{4},
			0,
			0,
			false,
			true,
		},
		"one less": {
			"a write that the webhook suppresses changed what somebody meant",
			[]int{3},
			[]int{2},
			0,
			0,
			false,
			true,
		},
		"one more, each time": {
			"it does not go away by looking again",
			[]int{3, 3, 3},
			[]int{4, 4, 4},
			0,
			0,
			false,
			true,
		},
		"one more, once": {
			"that comes without the webhook, too, or would",
			[]int{3, 3, 3},
			[]int{4, 3, 3},
			0,
			0,
			false,
			false,
		},
		"noise on both sides": {"what is usual is the same", []int{3, 4, 3}, []int{4, 3, 3}, 0, 0, false, false},
		"noise hides nothing": {
			"one accident without the webhook does not excuse each time with it",
			[]int{3, 4, 3},
			[]int{4, 4, 4},
			0,
			0,
			false,
			true,
		},
		"known to cost":     {"a cost that is known is neither more", []int{0}, []int{1}, 1, 0, false, false},
		"costs nothing now": {"nor less, or the list of what is known is old", []int{0}, []int{0}, 1, 0, false, true},
		"may cost":          {"it need not", []int{0}, []int{0}, 0, 1, false, false},
		"may cost so much":  {"it may", []int{0}, []int{1}, 0, 1, false, false},
		"may not cost more": {"it may not", []int{0}, []int{2}, 0, 1, false, true},
		"status":            {"a controller may write it more often", []int{3}, []int{5}, 0, 0, true, false},
		"status in a loop":  {"but not without end", []int{3}, []int{848}, 0, 0, true, true},
		"a loop, once":      {"once is too often", []int{0, 0, 0}, []int{848, 0, 0}, 0, 0, false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := differs(tt.plain, tt.hooked, tt.costs, tt.may, tt.varies); (got != "") != tt.want {
				t.Errorf("differs(%v, %v) = %q: %s", tt.plain, tt.hooked, got, tt.reason)
			}
		})
	}
}
