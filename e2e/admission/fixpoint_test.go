// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/stored"
)

// again is how often a scenario is played in all, with and without the webhook,
// before a difference between the first two counts, and how often at most.
const (
	again    = 3
	patience = 5
)

// scenarios are all that are played.
var scenarios = slices.Concat(deployments, workloads, plainObjects, templates, restores, operators)

// TestFixpoint plays each scenario without the webhook and with it, and holds what
// the API server logged of one against the other: the webhook causes no write that
// would not have been, and keeps none from being.
func TestFixpoint(t *testing.T) {
	ledger := follow(t)
	startOperator(t)
	played := scenarios
	if testing.Short() {
		played = deployments[:1]
	}
	trials := map[string]*trial{}
	for _, sc := range played {
		trials[sc.name] = &trial{scenario: sc}
	}
	h := newHook(t)
	h.start(t)
	for round := range patience {
		if len(trials) == 0 {
			break
		}
		perform(t, "without", ledger, trials, func(tr *trial, one tally) { tr.plain = append(tr.plain, one) })
		h.install(t)
		perform(t, "with", ledger, trials, func(tr *trial, one tally) { tr.hooked = append(tr.hooked, one) })
		uninstall(t)
		if t.Failed() {
			return
		}
		// With -run some are left out.
		maps.DeleteFunc(trials, func(_ string, tr *trial) bool { return len(tr.plain) == 0 || len(tr.hooked) == 0 })
		maps.DeleteFunc(trials, func(_ string, tr *trial) bool {
			different := tr.differing()
			for _, at := range sortedPlaces(different) {
				t.Logf("%s: %s", tr.name, different[at])
			}
			return len(different) == 0 && (round == 0 || round+1 >= again)
		})
	}
	for _, tr := range trials {
		different := tr.differing()
		for _, at := range sortedPlaces(different) {
			t.Errorf("%s: %s\n%s", tr.name, different[at], tr.reason)
		}
	}
}

// perform plays the scenarios of the trials once.
func perform(t *testing.T, how string, ledger *stored.Ledger, trials map[string]*trial, keep func(*trial, tally)) {
	t.Helper()
	var mu sync.Mutex
	t.Run(how, func(t *testing.T) {
		for _, name := range slices.Sorted(maps.Keys(trials)) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				one := play(t, trials[name].scenario, ledger)
				mu.Lock()
				defer mu.Unlock()
				keep(trials[name], one)
			})
		}
	})
}
