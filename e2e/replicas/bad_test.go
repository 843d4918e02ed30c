// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// TestSameIdentity: of two standbys with one identity, only one leads.
func TestSameIdentity(t *testing.T) {
	harness.Slow(t)
	backend := collector(t)
	standby := func(name string) *server {
		return start(t, member{mode: "standby", group: "same", name: name, identity: "twin", backend: backend})
	}
	a, b := standby("a"), standby("b")
	a.AwaitReady(t)
	b.AwaitReady(t)
	leader(t, a, b)
	if sum := a.metric(t, "lifeline_leader") + b.metric(t, "lifeline_leader"); sum != 1 {
		t.Errorf("%v of two standbys with one identity lead, want 1", sum)
	}
}

// TestNoRightOnLeases: a server without rights on Leases logs how to get them, and does not lead.
// After it gets the rights, it leads.
func TestNoRightOnLeases(t *testing.T) {
	harness.Slow(t)
	bench.MustKubectl(t, readAll, "apply", "-f", "-")
	s := start(t, member{
		mode: "standby", group: "rights", name: "standby", backend: collector(t),
		kubeconfig: bench.KubeconfigFor(carol),
	})
	s.awaitSaid(t, "lifeline rbac")
	if n := strings.Count(s.Log(), "lifeline rbac"); n > 3 {
		t.Errorf("the missing rights are logged %d times, want at most 3:\n%s", n, s.Log())
	}
	if s.metric(t, "lifeline_leader") != 0 {
		t.Error("a server without rights on Leases leads")
	}
	bench.MustKubectl(t, "", "-n", "default", "create", "rolebinding", "leases", "--clusterrole=carol-leases",
		"--user="+carol)
	defer bench.MustKubectl(t, "", "-n", "default", "delete", "rolebinding", "leases")
	harness.Eventually(t, "the leadership", func() bool { return s.metric(t, "lifeline_leader") == 1 })
	s.AwaitReady(t)
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
rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: carol-reads}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: carol-reads}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}]
`
