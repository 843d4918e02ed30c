// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"syscall"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// TestFailover: one of two sends, and the other takes over from it when it is
// killed; a third takes over from that when it is stopped. The backend is down
// meanwhile, and has everything afterwards.
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
	// What comes late, by up to 20 s, it can only tell of what it has seen begin.
	traffic.during(t, 3*turns)

	backend.SetDown(true)
	traffic.during(t, turns/2)
	second.Signal(t, syscall.SIGTERM)
	stopped := time.Now()
	leader(t, c)
	t.Logf("c leads %s after %s was stopped", time.Since(stopped).Round(time.Millisecond), second.name)
	if r := second.Ended(t); r.Code != 0 {
		t.Errorf("%s ended with code %d", second.name, r.Code)
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

// oneSends checks that the servers sent in turn: that who sends has changed no
// more often than who leads. On a machine that is too busy to renew Leases that
// is more often than they were killed and stopped.
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
	t.Logf("servers led %d times, and who sent changed %d times", terms, turns)
	if turns > terms {
		t.Errorf("who sent changed %d times, but only %d times one began to lead", turns, terms)
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

// size is n, or less in a short run.
func size(n, short int) int {
	if testing.Short() {
		return short
	}
	return n
}
