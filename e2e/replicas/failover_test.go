// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"syscall"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// TestFailover: the leader of two standbys is killed, and the other takes over. Then that one is
// stopped while the backend is down, and a third takes over. In the end the backend has all spans.
func TestFailover(t *testing.T) {
	harness.Slow(t)
	backend, undisturbed := collector(t), collector(t)
	traffic := newTraffic(t, "failover", size(6, 3))
	reference := start(t, member{mode: "single", group: "none", name: "reference", backend: undisturbed})
	join := func(name string) *server {
		return start(t, member{mode: "standby", group: "failover", name: name, backend: backend})
	}
	a, b := join("a"), join("b")
	for _, s := range []*server{reference, a, b} {
		s.AwaitReady(t)
	}
	turns := int64(size(40, 15))
	traffic.start(t, 200*time.Millisecond)
	traffic.during(t, turns)

	first, second := leader(t, a, b)
	killed := time.Now()
	first.Kill(t)
	leader(t, second)
	t.Logf("%s leads %s after %s was killed", second.name, time.Since(killed).Round(time.Millisecond), first.name)
	c := join("c")
	c.AwaitReady(t)
	// c must see changes from their start: input about them is up to 20 s late.
	traffic.during(t, 3*turns)

	backend.SetDown(true)
	traffic.during(t, turns/2)
	second.Signal(t, syscall.SIGTERM)
	stopped := time.Now()
	leader(t, c)
	t.Logf("c leads %s after %s was stopped", time.Since(stopped).Round(time.Millisecond), second.name)
	if r := second.Ended(t); r.Code != 0 {
		t.Errorf("%s: exit code %d, want 0", second.name, r.Code)
	}
	traffic.during(t, turns/2)
	backend.SetDown(false)
	traffic.during(t, turns/2)
	traffic.settle(t)
	calm(t, reference, c)

	got := collect(backend, of("failover"))
	compare(t, collect(undisturbed, of("failover")), got)
	oneSends(t, backend, first, second, c)
}

// leader waits until one of the servers leads, and returns it and the other.
func leader(t *testing.T, servers ...*server) (one, other *server) {
	t.Helper()
	harness.Eventually(t, "a leader", func() bool {
		one, other = nil, nil
		for _, s := range servers {
			if s.metric(t, "lifeline_leader") == 1 {
				one = s
			} else {
				other = s
			}
		}
		return one != nil
	})
	return one, other
}

// oneSends checks that only the leader sends: the sender has changed at most as often as the
// leader. On a machine too busy to renew Leases, the leader also changes without a kill or stop.
func oneSends(t *testing.T, backend *harness.Collector, servers ...*server) {
	t.Helper()
	turns, terms, last := 0, 0, ""
	for _, s := range backend.Spans(func(*harness.Span) bool { return true }) {
		if s.Sender != last {
			turns++
		}
		last = s.Sender
	}
	for _, s := range servers {
		for _, l := range s.Lines() {
			if l.Message() == "leadership" && l.Field("leading") == "true" && l.Field("lease") != "" {
				terms++
			}
		}
	}
	t.Logf("the leader changed %d times, and the sender %d times", terms, turns)
	if turns > terms {
		t.Errorf("the sender changed %d times, but the leader only %d times", turns, terms)
	}
}

func collector(t *testing.T) *harness.Collector {
	t.Helper()
	c, err := harness.NewCollector()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// size returns n, or the smaller number in a short run.
func size(n, short int) int {
	if testing.Short() {
		return short
	}
	return n
}
