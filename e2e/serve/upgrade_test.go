// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// TestUpgrade: during many changes, a server is killed at random times, and each start is of the other one of two
// versions. The next one adds to all stored data. In the end it has the same traces as an undisturbed server of the
// present version, both in its store and at the backend, and the next version's questions are answered.
func TestUpgrade(t *testing.T) {
	next := filepath.Join(t.TempDir(), "lifeline-next")
	if err := harness.BuildNext(t.Context(), filepath.Join("..", "..", "app"), next); err != nil {
		t.Fatal(err)
	}
	kills, deployments, rollouts := 50, 20, 10
	if testing.Short() {
		kills, deployments, rollouts = 8, 3, 3 // fewer kills would not end the outages of the backend
	}
	ns := bench.Namespace(t)
	s := killed(t, ns, kills, deployments, rollouts, bench.Lifeline, next)
	for _, l := range s.Lines() {
		for _, word := range []string{"set aside", "could not be restored", "newer", "cannot store", "left out"} {
			if strings.Contains(l.Message(), word) {
				t.Errorf("a version cannot use the data of the other: %v", l)
			}
		}
	}

	// The same data in the hands of each version, in order.
	traces := s.Traces(t, ns)
	for _, binary := range []string{bench.Lifeline, next, bench.Lifeline, next} {
		s.Stop(t)
		s.Binary = binary
		s.Start(t)
		if got := s.Traces(t, ns); len(got) != len(traces) {
			t.Errorf("%s has %d traces, want %d", filepath.Base(binary), len(got), len(traces))
		}
	}
	create(t, ns, "next")
	s.TraceOf(t, ns, "next")
	s.AwaitIdle(t)
	for question, reason := range map[string]string{
		`next_count == 1 && next.startsWith("next-")`: "what the next version has stored",
		`next == ""`: "what the present version has stored",
	} {
		r := bench.Begin(t, harness.Call{Binary: next, Args: []string{
			"find", question, "-n", ns, "-o", "name", "--server", "http://" + s.APIAddress(),
		}}).Wait(t)
		if r.Code != 0 || strings.Count(r.Stdout, "\n") == 0 {
			t.Errorf("%s: exit code %d, %q\n%s", reason, r.Code, r.Stdout, r.Stderr)
		}
	}
	s.Stop(t)
}
