// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"
)

// web stores Deployment web with its ReplicaSet web-1, both under way.
func web(c *cluster) {
	c.store("web", deployment(2)).begins()
	c.store("web-1", replicaSet("web", 2)).below("web")
}

// settledWeb stores web after its convergence, with one Pod.
func settledWeb(c *cluster) {
	web(c)
	c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1")).below("web-1")
	c.store("web-1-b", podOf("apps", "ReplicaSet", "web-1")).below("web-1")
	c.store("web-1", converged)
	c.store("web", converged)
	c.wait(time.Minute)
}

// TestByOwner: a write by the controller of the controller owner belongs to the owner's open reconciliation.
func TestByOwner(t *testing.T) {
	testRule(t, plain(byOwner), map[string]ruleCase{
		"ReplicaSet": {"the Deployment has not converged", func(c *cluster) {
			c.store("web", deployment(2)).begins()
			c.store("web-1", replicaSet("web", 2))
		}, "below web (owner)"},
		"Pod": {"the ReplicaSet wants two Pods", func(c *cluster) {
			web(c)
			c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1"))
		}, "below web-1 (owner)"},
		"Another namespace": {"an owner is in the same namespace", func(c *cluster) {
			web(c)
			c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1"), elsewhere)
		}, "no cause"},
		"No controller": {"the only owner is not the controller", func(c *cluster) {
			web(c)
			c.store("web-1-a", pod, plainlyOwned("apps", "ReplicaSet", "web-1"))
		}, "no cause"},
		"Unknown owner": {"the owner had converged before the start", func(c *cluster) {
			c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1"))
		}, "no cause"},
		"Pod of a raise": {"the raise wants the second Pod", func(c *cluster) {
			c.store("web-1", of("apps", "ReplicaSet"), by("kubectl-create"), wants(1), fresh).begins()
			c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1")).below("web-1")
			c.store("web-1", by("kubectl-scale"), wants(2)).begins()
			c.store("web-1-b", podOf("apps", "ReplicaSet", "web-1"))
		}, "below web-1 (owner)"},
		"First Pod during a raise": {"the creation wants it", func(c *cluster) {
			c.store("web-1", of("apps", "ReplicaSet"), by("kubectl-create"), wants(1), fresh).begins()
			c.store("web-1", by("kubectl-scale"), wants(2)).begins()
			c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1"))
		}, "below web-1 #1 (owner)"},
		"Surplus during a raise": {"the last decrease is the cause", func(c *cluster) {
			settledWeb(c)
			c.store("web-1-c", podOf("apps", "ReplicaSet", "web-1"))
			c.store("web-1-d", podOf("apps", "ReplicaSet", "web-1"))
			c.store("web-1", by("kubectl-scale"), wants(1)).begins()
			c.store("web-1", by("kubectl-scale"), wants(2)).begins()
			c.store("web-1-d", deleting)
		}, "below web-1 #2 (owner)"},
		"Unknown owner with a loss": {"the lost Pod is replaced", func(c *cluster) {
			c.found("web-1", replicaSet("web", 2), converged)
			c.found("web-1-a", podOf("apps", "ReplicaSet", "web-1"), converged)
			c.gone("web-1-a").begins()
			c.store("web-1-b", podOf("apps", "ReplicaSet", "web-1"))
		}, "new trace, heals web-1-a ~heals web-1-a"},
		"Update after a loss, unknown owner": {"only a creation replaces", func(c *cluster) {
			c.found("web-1", replicaSet("web", 2), converged)
			c.found("web-1-a", podOf("apps", "ReplicaSet", "web-1"), converged)
			c.found("web-1-b", podOf("apps", "ReplicaSet", "web-1"), converged)
			c.gone("web-1-a").begins()
			c.store("web-1-b", by("kube-controller-manager"), leaf("spec.x"))
		}, "no cause"},
		"Unknown author": {"the changed fields name no author", func(c *cluster) {
			web(c)
			c.store("web-1", func(st *state) { st.Managers = nil }, leaf("spec.x"))
		}, "no cause"},
		"No table of fields": {"nothing contradicts the controller", func(c *cluster) {
			web(c)
			c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1")).below("web-1")
			c.store("web-1-a", on("node-1"))
		}, "below web-1 (owner)"},
		"Another controller": {"it did not make the ReplicaSet", func(c *cluster) {
			web(c)
			c.store("web-1", by("other"), wants(3))
		}, "no cause"},
		"Second maker": {"it wrote the ReplicaSet at its creation, too", func(c *cluster) {
			c.store("web", deployment(2)).begins()
			c.store("web-1", replicaSet("web", 2), by("sidecar")).below("web")
			c.store("web-1", by("sidecar"), leaf("spec.x"))
		}, "below web (owner)"},
		"Status at the creation": {"only its status was written by that author", func(c *cluster) {
			c.store("web", deployment(2)).begins()
			c.store("web-1", replicaSet("web", 2), bySubresource("sidecar", "status")).below("web")
			c.store("web-1", func(st *state) { st.Managers = st.Managers[:1] }, by("sidecar"), leaf("spec.x"))
		}, "no cause"},
		"Another author": {"a person updates the ReplicaSet", func(c *cluster) {
			web(c)
			c.store("web-1", by("kubectl-edit"), wants(3))
		}, "no cause"},
		"Adopted": {"the object was created without a controller", func(c *cluster) {
			web(c)
			c.store("web-1-a", pod, by("kubectl-run"))
			c.ask()
			c.store("web-1-a", owned("apps", "ReplicaSet", "web-1"))
		}, "no cause"},
		"Healing": {"the lost Pod of a converged owner is replaced", func(c *cluster) {
			settledWeb(c)
			c.gone("web-1-a").begins()
			c.store("web-1-c", podOf("apps", "ReplicaSet", "web-1"))
		}, "new trace, heals web-1-a ~owner web-1 ~heals web-1-a"},
		"Failed Pod": {"a Pod that failed is lost, too", func(c *cluster) {
			settledWeb(c)
			c.store("web-1-a", failed).noted()
			c.store("web-1-c", podOf("apps", "ReplicaSet", "web-1"))
		}, "new trace, heals web-1-a ~owner web-1"},
		"Another Node": {"the Pods of a ReplicaSet replace each other anywhere", func(c *cluster) {
			settledWeb(c)
			c.store("web-1-a", on("node-2")).noted()
			c.gone("web-1-a").begins()
			c.store("web-1-c", podOf("apps", "ReplicaSet", "web-1"), on("node-1"))
		}, "new trace, heals web-1-a ~owner web-1 ~heals web-1-a"},
		"Update after a loss": {"only a creation replaces", func(c *cluster) {
			settledWeb(c)
			c.gone("web-1-a").begins()
			c.store("web-1-b", by("kube-controller-manager"), leaf("spec.x"))
		}, "new trace ~owner web-1"},
		"Two losses": {"the first one is replaced first", func(c *cluster) {
			settledWeb(c)
			c.gone("web-1-b").begins()
			c.gone("web-1-a").begins()
			c.store("web-1-c", podOf("apps", "ReplicaSet", "web-1"))
		}, "new trace, heals web-1-b ~owner web-1 ~heals web-1-b"},
		"Without a loss": {"a new Pod of a converged owner begins a trace", func(c *cluster) {
			settledWeb(c)
			c.store("web-1-c", podOf("apps", "ReplicaSet", "web-1"))
		}, "new trace ~owner web-1"},
		"Surplus": {"the ReplicaSet wants fewer Pods", func(c *cluster) {
			settledWeb(c)
			c.store("web-1", by("kubectl-scale"), wants(1)).begins()
			c.store("web-1-a", deleting)
		}, "below web-1 (owner)"},
		"No surplus": {"the open ReplicaSet has as many Pods as it wants", func(c *cluster) {
			web(c)
			c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1")).below("web-1")
			c.store("web-1-a", deleting)
		}, "no cause"},
		"Old ReplicaSet": {"it was scaled to nothing, and the limit of the history is zero", func(c *cluster) {
			c.found("web-0", replicaSet("web", 0), converged)
			settledWeb(c)
			c.gone("web-0")
		}, "below web (owner)"},
		"Within the limit of the history": {"one old ReplicaSet may stay", func(c *cluster) {
			c.found("web-0", replicaSet("web", 0), converged)
			settledWeb(c)
			c.store("web", func(st *state) { st.Workload.HistoryLimit = 1 })
			c.gone("web-0")
		}, "no cause"},
		"Above the limit of the history": {"another old ReplicaSet stays", func(c *cluster) {
			c.found("web-0", replicaSet("web", 0), converged)
			c.found("web-00", replicaSet("web", 0), converged)
			settledWeb(c)
			c.store("web", func(st *state) { st.Workload.HistoryLimit = 1 })
			c.gone("web-0")
		}, "below web (owner)"},
		"After another one": {"the other old ReplicaSet is gone", func(c *cluster) {
			c.found("web-0", replicaSet("web", 0), converged)
			c.found("web-00", replicaSet("web", 0), converged)
			settledWeb(c)
			c.store("web", func(st *state) { st.Workload.HistoryLimit = 1 })
			c.gone("web-00").below("web")
			c.gone("web-0")
		}, "no cause"},
		"Audited old ReplicaSet": {"the log names the controller", func(c *cluster) {
			c.found("web-0", replicaSet("web", 0), converged)
			settledWeb(c)
			c.store("web", func(st *state) { st.Workload.HistoryLimit = 1 })
			c.audited(c.gone("web-0"), ControllerAccounts+"deployment-controller", managerAgent)
		}, "below web (owner)"},
		"ReplicaSet without its Pods": {"it has replicas, and no Pod yet", func(c *cluster) {
			c.found("web-0", replicaSet("web", 1))
			settledWeb(c)
			c.gone("web-0")
		}, "no cause"},
		"ReplicaSet with a Pod": {"its last Pod is still there", func(c *cluster) {
			c.found("web-0", replicaSet("web", 0), converged, func(st *state) { st.Workload.Total = 1 })
			settledWeb(c)
			c.gone("web-0")
		}, "no cause"},
		"ReplicaSet in use": {"it has replicas", func(c *cluster) {
			settledWeb(c)
			c.gone("web-1")
		}, "no cause"},
	})
}

// TestOpenOwner: the open reconciliation of the controller owner.
func TestOpenOwner(t *testing.T) {
	testParent(t, OpenOwner, map[string]ruleCase{
		"Open":      {"the owner is under way", func(c *cluster) { web(c) }, "create web"},
		"Converged": {"the owner has ended", func(c *cluster) { settledWeb(c); c.store("web-1", wants(3)) }, "none"},
		"No owner":  {"nothing is above it", func(c *cluster) { c.store("web", deployment(1)) }, "none"},
	})
}

// TestOwnershipCause: the deletion of an owner, or the reconciliation of the adopting owner.
func TestOwnershipCause(t *testing.T) {
	orphaned := func(st *state) { st.Owners = nil }
	testParent(t, OwnershipCause, map[string]ruleCase{
		"Orphaned": {"the owner is deleted", func(c *cluster) {
			settledWeb(c)
			c.store("web", deleting).begins()
			c.store("web-1", orphaned)
		}, "delete web"},
		"Orphaned elsewhere": {"the deleted owner is in another namespace", func(c *cluster) {
			c.store("web", deployment(1), elsewhere).begins()
			c.store("web-1", of("apps", "ReplicaSet"), wants(1), plainlyOwned("apps", "Deployment", "web")).begins()
			c.store("web", deleting).begins()
			c.store("web-1", orphaned)
		}, "none"},
		"Released": {"the owner stays", func(c *cluster) {
			settledWeb(c)
			c.store("web-1", orphaned)
		}, "none"},
		"Adopted": {"the new owner is under way", func(c *cluster) {
			c.store("web", deployment(1)).begins()
			c.store("web-1", of("apps", "ReplicaSet"), wants(1)).begins()
			c.store("web-1", owned("apps", "Deployment", "web"))
		}, "create web"},
	})
}
