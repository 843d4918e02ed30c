// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// TestFrozenShard: a shard is frozen for longer than its Lease, and another takes over. After that,
// the frozen shard sends nothing until it is in the group again.
func TestFrozenShard(t *testing.T) {
	harness.Slow(t)
	backend, undisturbed := collector(t), collector(t)
	traffic := newTraffic(t, "frozen", size(6, 3))
	reference := start(t, member{mode: "single", group: "none", name: "reference", backend: undisturbed})
	join := func(name string) *server {
		return start(t, member{mode: "shards", group: "frozen", name: name, backend: backend})
	}
	a, b := join("a"), join("b")
	for _, s := range []*server{reference, a, b} {
		s.AwaitReady(t)
	}
	agree(t, 2, a, b)
	turns := int64(size(20, 10))
	traffic.start(t, 250*time.Millisecond)
	traffic.during(t, turns)
	a.Signal(t, syscall.SIGSTOP)
	frozen := time.Now()
	eventually(t, b, "lifeline_shard_members", 1)
	t.Logf("b is alone %s after a was frozen", time.Since(frozen).Round(time.Millisecond))
	traffic.during(t, turns)
	a.Signal(t, syscall.SIGCONT)
	woken := time.Now()
	a.AwaitLog(t, "out of touch with the group")
	agree(t, 2, a, b)
	t.Logf("a is in the group again %s after it was resumed", time.Since(woken).Round(time.Millisecond))
	traffic.during(t, turns)
	traffic.settle(t)
	calm(t, reference, a, b)
	got := collect(backend, of("frozen"))
	compare(t, collect(undisturbed, of("frozen")), got)
	for id, came := range got.senders {
		for _, s := range came {
			if s.Sender == "a" && s.Came.Sub(woken) > 0 && s.Came.Sub(woken) < 50*time.Millisecond {
				t.Logf("a sent %s %s after it was resumed", id, s.Came.Sub(woken))
			}
		}
	}
}

// TestSameIdentity: of two shards with one identity, the first ends, and its error names the
// setting to change. Of two standbys with one identity, only one leads.
func TestSameIdentity(t *testing.T) {
	harness.Slow(t)
	backend := collector(t)
	shard := func(name string) *server {
		return start(t, member{mode: "shards", group: "same", name: name, identity: "twin", backend: backend})
	}
	a := shard("a")
	a.AwaitReady(t)
	b := shard("b")
	if r := a.Ended(t); r.Code == 0 || !strings.Contains(r.Stderr, "replicas.identity") {
		t.Errorf("the shard without its identity: exit code %d, want an error with replicas.identity:\n%s",
			r.Code, r.Stderr)
	}
	b.AwaitReady(t)

	standby := func(name string) *server {
		return start(t, member{mode: "standby", group: "same-standby", name: name, identity: "twin", backend: backend})
	}
	c, d := standby("c"), standby("d")
	c.AwaitReady(t)
	d.AwaitReady(t)
	leader(t, c, d)
	if sum := c.metric(t, "lifeline_leader") + d.metric(t, "lifeline_leader"); sum != 1 {
		t.Errorf("%v of two standbys with one identity lead, want 1", sum)
	}
}

// TestNoRightOnLeases: a server without rights on Leases logs how to get them, and does not lead.
// After it gets the rights, it leads.
func TestNoRightOnLeases(t *testing.T) {
	harness.Slow(t)
	bench.MustKubectl(t, readAll, "apply", "-f", "-")
	backend := collector(t)
	for _, mode := range []string{"standby", "shards"} {
		t.Run(mode, func(t *testing.T) {
			s := start(
				t,
				member{
					mode:       mode,
					group:      "rights-" + mode,
					name:       mode,
					backend:    backend,
					kubeconfig: bench.KubeconfigFor(carol),
				},
			)
			s.awaitSaid(t, "lifeline rbac")
			if n := strings.Count(s.Log(), "lifeline rbac"); n > 3 {
				t.Errorf("the missing rights are logged %d times, want at most 3:\n%s", n, s.Log())
			}
			if mode == "shards" {
				if ready, said := s.Readiness(t); ready {
					t.Errorf("a shard without rights to read the group is ready: %s", said)
				}
			}
			if s.metric(t, "lifeline_leader") != 0 {
				t.Error("a server without rights on Leases leads")
			}
			bench.MustKubectl(
				t,
				"",
				"-n",
				"default",
				"create",
				"rolebinding",
				"leases-"+mode,
				"--clusterrole=carol-leases",
				"--user="+carol,
			)
			defer bench.MustKubectl(t, "", "-n", "default", "delete", "rolebinding", "leases-"+mode)
			harness.Eventually(t, "the leadership", func() bool { return s.metric(t, "lifeline_leader") == 1 })
			s.AwaitReady(t)
		})
	}
}

const readAll = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: carol-reads}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: carol-leases}
rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, create, update, delete]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: carol-reads}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: carol-reads}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}]
`
