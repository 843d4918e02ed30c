// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// TestShards: several servers divide the namespaces. One joins, one is stopped, and one is killed
// and restarted. Together they send the same spans as one server.
func TestShards(t *testing.T) {
	harness.Slow(t)
	backend, undisturbed := collector(t), collector(t)
	traffic := newTraffic(t, "shards", size(12, 6))
	reference := start(t, member{mode: "single", group: "none", name: "reference", backend: undisturbed})
	join := func(name string) *server {
		return start(t, member{mode: "shards", group: "shards", name: name, backend: backend})
	}
	a, b := join("a"), join("b")
	for _, s := range []*server{reference, a, b} {
		s.AwaitReady(t)
	}
	agree(t, 2, a, b)
	turns := int64(size(40, 20))
	traffic.start(t, 200*time.Millisecond)
	traffic.during(t, turns)

	began := time.Now()
	c := join("c")
	agree(t, 3, a, b, c)
	t.Logf("c is in the group %s after its start", time.Since(began).Round(time.Millisecond))
	traffic.during(t, turns)
	undisturbedYet := collect(backend, of("shards"))
	again, shared := undisturbedYet.repeats()
	if again+shared > 0 {
		t.Errorf("%d repeated spans and %d from two shards before any kill or stop, want none", again, shared)
	}
	objects := map[string]float64{}
	for _, s := range []*server{reference, a, b, c} {
		objects[s.name] = s.metric(t, "lifeline_engine_objects")
	}
	t.Logf("objects: %v", objects)

	began = time.Now()
	a.Stop(t)
	t.Logf(
		"a has handed over and ended %s after the stop signal, at %s",
		time.Since(began).Round(time.Millisecond),
		clock(time.Now()),
	)
	agree(t, 2, b, c)
	traffic.during(t, turns)
	again, shared = collect(backend, of("shards")).repeats()
	if again+shared > 0 {
		t.Errorf("%d repeated spans and %d from two shards after the stop of one, want none", again, shared)
	}

	t.Logf("b is killed at %s", clock(time.Now()))
	b.Kill(t)
	traffic.during(t, 3)
	began = time.Now()
	b.begin(t)
	b.AwaitReady(t)
	agree(t, 2, b, c)
	t.Logf("b is in the group again %s after its start, at %s",
		time.Since(began).Round(time.Millisecond), clock(time.Now()))
	traffic.during(t, turns)
	traffic.settle(t)
	calm(t, reference, b, c)

	compare(t, collect(undisturbed, of("shards")), collect(backend, of("shards")))
}

// agree waits until the servers use the same shard table with that number of members.
func agree(t *testing.T, members float64, servers ...*server) {
	t.Helper()
	for {
		all := true
		epoch := servers[0].metric(t, "lifeline_shard_epoch")
		for _, s := range servers {
			eventually(t, s, "lifeline_shard_members", members)
			all = all && s.metric(t, "lifeline_shard_epoch") == epoch
		}
		if all {
			return
		}
	}
}
