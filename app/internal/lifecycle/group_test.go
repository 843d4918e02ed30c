// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestGroups: at every look, derivation by group gives the same bytes as derivation of everything
// together (rule G5).
func TestGroups(t *testing.T) {
	all := recordings(t)
	all["traffic"] = read(t, traffic)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		seen := all[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("AsSeen", func(t *testing.T) { looksAlike(t, seen) })
			seeds, tried := uint64(10), disorders
			if testing.Short() {
				seeds, tried = 1, disorders[i%len(disorders):][:1]
			}
			for seed := range seeds {
				for _, disorder := range tried {
					t.Run(fmt.Sprintf("%s/%d", disorder.name, seed), func(t *testing.T) {
						looksAlike(t, disorder.of(seen, seed))
					})
				}
			}
		})
	}
}

func looksAlike(t *testing.T, seen []*observation.Observation) {
	t.Helper()
	whole, divided := New(Options{Cluster: "test"}), New(Options{Cluster: "test"})
	whole.groups.whole = true
	n := 0
	look := func(now time.Time) {
		want, got := ask(whole, now), ask(divided, now)
		n++
		if ids := divided.Differences(now); len(ids) > 0 {
			t.Fatalf("at look %d, %s: these differ from a derivation from nothing: %v", n, now.Format("05.000"), ids)
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf(
				"at look %d, %s: -together +in groups:\n%s",
				n,
				now.Format("05.000"),
				cmp.Diff(want.outline(), got.outline()),
			)
		}
	}
	now := seen[0].Seen
	for _, o := range seen {
		for ; now.Before(o.Seen); now = now.Add(500 * time.Millisecond) {
			look(now)
		}
		whole.Observe(o)
		divided.Observe(o)
	}
	for step := time.Second; step < 3*time.Hour; step = step * 5 / 4 {
		look(now.Add(step))
	}
}

// looksAlikeMixed is looksAlike in other orders.
func looksAlikeMixed(t *testing.T, seen []*observation.Observation) {
	t.Helper()
	seeds := uint64(5)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		looksAlike(t, mixed(seen, seed))
	}
}
