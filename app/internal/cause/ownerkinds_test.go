// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

const fieldDesired = "metadata.annotations[deployment.kubernetes.io/desired-replicas]"

// statefulSet is a StatefulSet by a person, without observedGeneration.
func statefulSet(n int32) trait {
	return all(of("apps", "StatefulSet"), by("kubectl-create"), leaf(fieldImage), wants(n), fresh)
}

// job is a Job by a person.
func job(n int32) trait { return all(of("batch", "Job"), by("kubectl-create"), wants(n), fresh) }

// TestByOwnerDeployment: a scaling changes the ReplicaSet's copy of the number. Any other write is a step of a rollout.
func TestByOwnerDeployment(t *testing.T) {
	// rescaled stores a rollout and a scaling at the same time.
	rescaled := func(c *cluster) {
		web(c)
		c.store("web", by("kubectl-edit"), leaf(fieldImage)).begins()
		c.store("web", by("kubectl-scale"), wants(4)).begins()
	}
	testRule(t, plain(byOwner), map[string]ruleCase{
		"New ReplicaSet": {"the newest template wants it", func(c *cluster) {
			web(c)
			c.store("web", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.store("web-2", replicaSet("web", 1))
		}, "below web (owner)"},
		"New ReplicaSet during a scaling": {"the new template wants it", func(c *cluster) {
			rescaled(c)
			c.store("web-2", replicaSet("web", 1))
		}, "below web #2 (owner)"},
		"Step during a scaling": {"it copies no number", func(c *cluster) {
			rescaled(c)
			c.store("web-1", by(change.Manager), wants(1))
		}, "below web #2 (owner)"},
		"First update": {"a Deployment shows when it has converged", func(c *cluster) {
			web(c)
			c.store("web", converged).noted()
			c.wait(10 * time.Second)
			c.store("web-1", by(change.Manager), wants(1))
		}, "new trace ~owner web"},
		"Step of a rollout": {"the old ReplicaSet gets fewer replicas", func(c *cluster) {
			web(c)
			c.store("web", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.store("web-1", by(change.Manager), wants(1))
		}, "below web (owner)"},
		"Scaling": {"the copy of the number changes", func(c *cluster) {
			rescaled(c)
			c.store("web-1", by(change.Manager), leaf(fieldDesired), wants(4))
		}, "below web (owner)"},
	})
	t.Run("Found scaling", testFoundScaling)
}

// testFoundScaling: a change found under way becomes a scaling with the first scaled ReplicaSet, and not before.
func testFoundScaling(t *testing.T) {
	c := newCluster()
	c.found("web", deployment(2), func(st *state) { st.Generation = 2 }).begins()
	c.found("web-1", replicaSet("web", 1), converged)
	c.store("web", by("kubectl-edit"), leaf(fieldImage)).begins()
	c.store("web-1", by(change.Manager), leaf(fieldDesired), wants(2))
	w := c.set()
	recs := c.scene.Placed.History(c.states["web"].UID)
	if len(recs) != 2 || recs[0].Superseded == nil || recs[0].Took != kind.Everything {
		t.Fatalf("the found change is not superseded: %+v", recs)
	}
	got, found, _ := plain(byOwner)(c.scene, w)
	if !found || got.Parent != recs[0] {
		t.Fatalf("got the parent %+v, want the found change", got.Parent)
	}
	if recs[0].Superseded == nil || recs[0].Took != kind.Everything {
		t.Errorf("the rule changed the found change: %+v", recs[0])
	}
	Apply(c.scene, &got)
	if recs[0].Superseded != nil || recs[0].Took != kind.Scale || recs[0].Parts != kind.Scale {
		t.Errorf("after Apply the found change is %+v, want a scaling that goes on", recs[0])
	}
}

// TestByOwnerStatefulSet: each Pod has its place, by its ordinal.
func TestByOwnerStatefulSet(t *testing.T) {
	db := podOf("apps", "StatefulSet", "db")
	settled := func(c *cluster) {
		c.store("db", statefulSet(2)).begins()
		c.store("db-0", db, converged).below("db")
		c.store("db-1", db, converged).below("db")
		c.store("db", converged)
		c.wait(time.Minute)
	}
	testRule(t, plain(byOwner), map[string]ruleCase{
		"In deletion": {"the deletion is the newest demand", func(c *cluster) {
			c.store("db", statefulSet(2)).begins()
			c.store("db", deleting).begins()
			c.store("db-0", db)
		}, "below db (owner)"},
		"Deleted during a raise": {"the new template replaces it", func(c *cluster) {
			settled(c)
			c.store("db", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.store("db", by("kubectl-scale"), wants(4)).begins()
			c.store("db-1", deleting)
		}, "below db #2 (owner)"},
		"Made again during a raise": {"the new template wants it again", func(c *cluster) {
			settled(c)
			c.store("db", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.store("db", by("kubectl-scale"), wants(4)).begins()
			c.gone("db-1").below("db")
			c.store("db-1 again", named("db-1"), db)
		}, "below db #2 (owner)"},
		"Without an ordinal": {"it fills the first free place", func(c *cluster) {
			c.store("db", statefulSet(2)).begins()
			c.store("db", by("kubectl-scale"), wants(4)).begins()
			c.store("db-x", db)
		}, "below db #1 (owner)"},
		"First during a raise": {"the creation wants it", func(c *cluster) {
			c.store("db", statefulSet(2)).begins()
			c.store("db", by("kubectl-scale"), wants(4)).begins()
			c.store("db-1", db)
		}, "below db #1 (owner)"},
		"Updated during a raise": {"the newest change is the cause", func(c *cluster) {
			c.store("db", statefulSet(2)).begins()
			c.store("db-1", db).below("db")
			c.store("db", by("kubectl-scale"), wants(4)).begins()
			c.store("db-1", by(change.Manager), leaf("spec.x"))
		}, "below db (owner)"},
		"Wanted": {"the creation wants the first ordinals", func(c *cluster) {
			c.store("db", statefulSet(2)).begins()
			c.store("db-1", db)
		}, "below db (owner)"},
		"Removed by a decrease": {"its ordinal is above the new number", func(c *cluster) {
			settled(c)
			c.store("db", by("kubectl-scale"), wants(1)).begins()
			c.store("db-1", deleting)
		}, "below db (owner)"},
		"Kept by a decrease": {"its ordinal is below the new number, and the decrease is open", func(c *cluster) {
			settled(c)
			c.store("db", by("kubectl-scale"), wants(1), ordered).begins()
			c.store("db-0", condition("Ready", "False", "", "")).noted()
			c.store("db-0", deleting)
		}, "no cause"},
		"Replaced by an update": {"the Pod is older than the new template", func(c *cluster) {
			settled(c)
			c.store("db", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.store("db-1", deleting)
		}, "below db (owner)"},
		"Newer than the update": {"the Pod has the new template", func(c *cluster) {
			settled(c)
			c.store("db", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.store("db-2", db, converged).below("db")
			c.store("db", by("kubectl-scale"), wants(3)).continues()
			c.store("db-2", deleting)
		}, "no cause"},
		"Not ready, in parallel": {"the controller waits for no Pod", func(c *cluster) {
			settled(c)
			c.store("db", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.store("db-1", condition("Ready", "False", "", "")).noted()
			c.store("db-1", deleting)
		}, "below db (owner)"},
		"Ready, in order": {"the controller replaces a ready Pod", func(c *cluster) {
			settled(c)
			c.store("db", by("kubectl-edit"), leaf(fieldImage), ordered).begins()
			c.store("db-1", deleting)
		}, "below db (owner)"},
		"Not ready": {"the controller waits for a Pod that is not ready", func(c *cluster) {
			settled(c)
			c.store("db", by("kubectl-edit"), leaf(fieldImage), ordered).begins()
			c.store("db-1", condition("Ready", "False", "", "")).noted()
			c.store("db-1", deleting)
		}, "no cause"},
		"Ended": {"a Pod without a container is replaced at once", func(c *cluster) {
			settled(c)
			c.store("db", by("kubectl-edit"), leaf(fieldImage), ordered).begins()
			c.store("db-1", condition("Ready", "False", "", ""), failed).noted()
			c.store("db-1", deleting)
		}, "below db (owner)"},
		"Raised": {"the raise wants the further ordinals", func(c *cluster) {
			settled(c)
			c.store("db", by("kubectl-scale"), wants(4)).begins()
			c.store("db-3", db)
		}, "below db (owner)"},
		"Not ready, above the number": {"a decrease removes any Pod", func(c *cluster) {
			settled(c)
			c.store("db", by("kubectl-scale"), wants(1), ordered).begins()
			c.store("db-1", condition("Ready", "False", "", "")).noted()
			c.store("db-1", deleting)
		}, "below db (owner)"},
		"Deleted during the creation": {"a creation replaces no Pod", func(c *cluster) {
			c.store("db", statefulSet(2)).begins()
			c.store("db-0", db).below("db")
			c.store("db-0", deleting)
		}, "no cause"},
		"Audited deletion": {"the log names the controller", func(c *cluster) {
			settled(c)
			c.store("db", by("kubectl-edit"), leaf(fieldImage), ordered).begins()
			c.store("db-1", condition("Ready", "False", "", "")).noted()
			c.audited(c.store("db-1", deleting), ControllerAccounts+"statefulset-controller", managerAgent)
		}, "below db (owner)"},
		"Above an old decrease": {"a raise has ended the decrease", func(c *cluster) {
			settled(c)
			c.store("db", by("kubectl-scale"), wants(1)).begins()
			c.store("db", by("kubectl-scale"), wants(3)).begins()
			c.store("db-1", deleting)
		}, "no cause"},
		"Found Pod": {"it is older than the update", func(c *cluster) {
			c.found("db", statefulSet(1), converged)
			c.found("db-0", db, converged)
			c.store("db", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.store("db-0", deleting)
		}, "below db (owner)"},
		"Lost during the change": {"the Pod is replaced in its place", func(c *cluster) {
			c.store("db", statefulSet(2)).begins()
			c.store("db-0", db).below("db")
			c.gone("db-0").begins()
			c.store("db-0 again", named("db-0"), db)
		}, "new trace, heals db-0 ~owner db ~heals db-0"},
		"Update after a loss": {"only a creation replaces", func(c *cluster) {
			c.store("db", statefulSet(2)).begins()
			c.store("db-0", db).below("db")
			c.gone("db-0").begins()
			c.store("db-0 again", named("db-0"), db).below("db")
			c.store("db-0 again", by(change.Manager), leaf("spec.x"))
		}, "below db (owner)"},
		"Lost in another place": {"another Pod is replaced later", func(c *cluster) {
			c.store("db", statefulSet(2)).begins()
			c.store("db-0", db).below("db")
			c.gone("db-0").begins()
			c.store("db-1", db)
		}, "below db (owner)"},
	})
}

// TestByOwnerJob: a Job wants Pods by number or index, and takes them back at its end or with a decrease.
func TestByOwnerJob(t *testing.T) {
	sums := podOf("batch", "Job", "sums")
	testRule(t, plain(byOwner), map[string]ruleCase{
		"Wanted": {"the Job has not ended", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("sums-0-x", sums)
		}, "below sums (owner)"},
		"Index of the creation": {"the creation wants it", func(c *cluster) {
			c.store("sums", job(2)).begins()
			c.store("sums", by("kubectl-scale"), wants(4)).begins()
			c.store("sums-1-x", sums)
		}, "below sums #1 (owner)"},
		"Index of the raise": {"the raise wants it", func(c *cluster) {
			c.store("sums", job(2)).begins()
			c.store("sums", by("kubectl-scale"), wants(4)).begins()
			c.store("sums-2-x", sums)
		}, "below sums (owner)"},
		"First slot": {"the creation wants it", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("sums", by("kubectl-scale"), wants(2)).begins()
			c.store("sums-x", sums)
		}, "below sums #1 (owner)"},
		"Deleted by a decrease": {"the last decrease is the cause", func(c *cluster) {
			c.store("sums", job(3)).begins()
			c.store("sums-0-x", sums).below("sums")
			c.store("sums-2-x", sums).below("sums")
			c.store("sums", by("kubectl-scale"), wants(1)).begins()
			c.store("sums-2-x", deleting)
		}, "below sums (owner)"},
		"Next Pod of a slot": {"the raise wants the second slot", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("sums-x", sums).below("sums")
			c.store("sums", by("kubectl-scale"), wants(2)).begins()
			c.store("sums-y", sums)
		}, "below sums (owner)"},
		"Deleted after a resumption": {"the controller deletes no Pod for a raise", func(c *cluster) {
			c.store("sums", job(0)).begins()
			c.store("sums", by("kubectl-edit"), leaf("spec.suspend"), wants(2)).begins()
			c.store("sums-x", sums).below("sums")
			c.store("sums-x", deleting)
		}, "no cause"},
		"Deleted by the controller": {"the log names the controller", func(c *cluster) {
			c.store("sums", job(0)).begins()
			c.store("sums", by("kubectl-edit"), leaf("spec.suspend"), wants(2)).begins()
			c.store("sums-x", sums).below("sums")
			c.audited(c.store("sums-x", deleting), ControllerAccounts+"job-controller", managerAgent)
		}, "below sums (owner)"},
		"Deleted after a change": {"the change raises nothing", func(c *cluster) {
			c.store("sums", job(2)).begins()
			c.store("sums-x", sums).below("sums")
			c.store("sums", by("kubectl-edit"), leaf("spec.suspend")).begins()
			c.store("sums-x", deleting)
		}, "below sums (owner)"},
		"Suspended in its creation": {"a component suspends it as a step of the creation", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("sums-x", sums).below("sums")
			c.store("sums", by("kueue"), wants(0)).continues()
			c.store("sums-x", deleting)
		}, "below sums (owner)"},
		"Replaced Pod": {"somebody else deleted the Pod before it", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("sums-x", sums).below("sums")
			c.gone("sums-x").begins()
			c.store("sums-y", sums)
		}, "new trace, heals sums-x ~owner sums ~heals sums-x"},
		"Next attempt": {"the Pod before it failed", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("sums-x", sums).below("sums")
			c.store("sums-x", failed).noted()
			c.store("sums-y", sums)
		}, "below sums (owner)"},
		"Suspended": {"a suspension wants no Pods", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("sums-0-x", sums).below("sums")
			c.store("sums", by("kubectl-edit"), wants(0)).begins()
			c.store("sums-0-x", deleting)
		}, "below sums (owner)"},
		"Deleted by a person": {"the Job goes on", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("sums-0-x", sums).below("sums")
			c.store("sums-0-x", deleting)
		}, "no cause"},
		"Ended": {"the controller has decided on the end", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("sums-0-x", sums).below("sums")
			c.store("sums", condition("FailureTarget", "True", "", "")).noted()
			c.store("sums-0-x", deleting)
		}, "below sums (owner)"},
	})
}

// TestByOwnerDaemonSet: a DaemonSet replaces Pods of an old template. A lost Pod of the same template is healed.
func TestByOwnerDaemonSet(t *testing.T) {
	revised := func(n uint64) trait {
		return func(st *state) {
			leaf(RevisionLabel)(st)
			st.Leaves[len(st.Leaves)-1].Value = n
		}
	}
	set := func(c *cluster) {
		c.store("agent", daemonSet(2)).begins()
	}
	agent := all(podOf("apps", "DaemonSet", "agent"), on("node-1"))
	testRule(t, plain(byOwner), map[string]ruleCase{
		"Wanted": {"the newest template wants it", func(c *cluster) {
			set(c)
			c.store("agent", by("kubectl-label"), leaf("spec.minReadySeconds")).begins()
			c.store("agent-x", agent)
		}, "below agent (owner)"},
		"Lost": {"the new Pod has the same template", func(c *cluster) {
			set(c)
			c.store("agent-w", agent, revised(1)).below("agent")
			c.gone("agent-w").begins()
			c.store("agent-x", agent, revised(1))
		}, "new trace, heals agent-w ~owner agent ~heals agent-w"},
		"New template": {"the new Pod has another template", func(c *cluster) {
			set(c)
			c.store("agent-w", agent, revised(1)).below("agent")
			c.gone("agent-w").begins()
			c.store("agent-x", agent, revised(2))
		}, "below agent (owner)"},
		"No revision": {"nothing shows another template", func(c *cluster) {
			set(c)
			c.store("agent-w", agent).below("agent")
			c.gone("agent-w").begins()
			c.store("agent-x", agent)
		}, "new trace, heals agent-w ~owner agent ~heals agent-w"},
		"On another Node": {"the lost Pod was on another Node", func(c *cluster) {
			set(c)
			c.store("agent-w", agent, on("node-2"), revised(1)).below("agent")
			c.gone("agent-w").begins()
			c.store("agent-x", agent, revised(1))
		}, "below agent (owner)"},
		"Old Pod": {"the update replaces it", func(c *cluster) {
			set(c)
			c.store("agent-w", agent).below("agent")
			c.store("agent", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.store("agent-w", deleting)
		}, "below agent (owner)"},
		"Pod of the creation": {"a creation replaces no Pod", func(c *cluster) {
			set(c)
			c.store("agent-w", agent).below("agent")
			c.store("agent-w", deleting)
		}, "no cause"},
		"New Pod, audited": {"the log names the controller", func(c *cluster) {
			set(c)
			c.store("agent", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.store("agent-w", agent).below("agent")
			c.audited(c.store("agent-w", deleting), ControllerAccounts+"daemon-set-controller", managerAgent)
		}, "below agent (owner)"},
		"New Pod": {"it has the new template", func(c *cluster) {
			set(c)
			c.store("agent", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.store("agent-w", agent).below("agent")
			c.store("agent-w", deleting)
		}, "no cause"},
	})
}

// TestByOwnerArrival: the order of two storages is only that of arrival.
func TestByOwnerArrival(t *testing.T) {
	foreign := func(st *state) { st.ResourceVersion, st.Order = st.ResourceVersion+1000, st.ResourceVersion }
	child := all(of("example.com", "Tail"), owned("example.com", "Head", "head"), by("head-controller"))
	open := func(c *cluster) {
		c.store("head", custom("Head"), pending).begins()
	}
	testRule(t, plain(byOwner), map[string]ruleCase{
		"One change": {"the owner had only one state", func(c *cluster) {
			open(c)
			c.store("tail", child, foreign)
		}, "below head (owner)"},
		"Two changes": {"the arrival decides between two states", func(c *cluster) {
			open(c)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.store("tail", child, foreign)
		}, "below head (time)"},
		"Found owner": {"the owner had an earlier state", func(c *cluster) {
			c.found("head", custom("Head"), pending).begins()
			c.store("tail", child, foreign)
		}, "below head (time)"},
		"Foreign owner": {"the owner is in another storage", func(c *cluster) {
			c.found("head", custom("Head"), pending, foreign).begins()
			c.store("tail", child)
		}, "below head (time)"},
		"One storage": {"the resourceVersions give the order", func(c *cluster) {
			open(c)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.store("tail", child)
		}, "below head (owner)"},
	})
}
