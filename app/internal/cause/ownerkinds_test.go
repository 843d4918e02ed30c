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
	// rescaled tells of a rollout and a scaling at the same time.
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
		"Without an ordinal": {"the newest change wants it", func(c *cluster) {
			c.store("db", statefulSet(2)).begins()
			c.store("db", by("kubectl-scale"), wants(4)).begins()
			c.store("db-x", db)
		}, "below db (owner)"},
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
		"Replaced Pod": {"the Job has not ended, so the Pod is wanted", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("sums-x", sums).below("sums")
			c.gone("sums-x").begins()
			c.store("sums-y", sums)
		}, "below sums (owner)"},
		"Suspended": {"a suspension wants no Pods", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("sums-0-x", sums).below("sums")
			c.store("sums", by("kubectl-edit"), wants(0)).begins()
			c.store("sums-0-x", deleting)
		}, "below sums (owner)"},
		"Deleted by somebody": {"the Job goes on", func(c *cluster) {
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
		"No revision": {"nothing shows the templates", func(c *cluster) {
			set(c)
			c.store("agent-w", agent).below("agent")
			c.gone("agent-w").begins()
			c.store("agent-x", agent)
		}, "below agent (owner)"},
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

// TestByOwnerRequest: the controller removes the CertificateRequest of an earlier revision.
func TestByOwnerRequest(t *testing.T) {
	const group = "cert-manager.io"
	request := all(of(group, "CertificateRequest"), owned(group, "Certificate", "cert"), by("cert-manager"))
	settled := func(c *cluster) {
		c.store("cert", of(group, "Certificate"), by("kubectl-create"), leaf("spec.dnsNames"), fresh).begins()
		c.store("cert", converged).noted()
		c.wait(time.Minute)
		c.store("cert-1", request).begins()
		c.wait(time.Minute)
	}
	testRule(t, plain(byOwner), map[string]ruleCase{
		"Earlier": {"a later request is left", func(c *cluster) {
			settled(c)
			c.store("cert-2", request).begins()
			c.wait(time.Minute)
			c.gone("cert-1")
		}, "below cert (owner)"},
		"Newest": {"no later request is left", func(c *cluster) {
			settled(c)
			c.store("cert-2", request).begins()
			c.wait(time.Minute)
			c.gone("cert-2")
		}, "no cause"},
		"Alone": {"it is the only one", func(c *cluster) {
			settled(c)
			c.gone("cert-1")
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

// TestByOwnerSchedule: each Job of a CronJob is a separate change.
func TestByOwnerSchedule(t *testing.T) {
	nightly := func(c *cluster) {
		c.store("nightly", of("batch", "CronJob"), by("kubectl-create"), converged).begins()
		c.wait(time.Minute)
	}
	run := all(job(1), owned("batch", "CronJob", "nightly"))
	testRule(t, plain(byOwner), map[string]ruleCase{
		"Run": {"it has a link to the schedule", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run)
		}, "new trace ~owner nightly"},
		"Unknown schedule": {"its last change is unknown", func(c *cluster) {
			c.found("nightly", of("batch", "CronJob"), by("kubectl-create"), converged)
			c.store("nightly-1", run)
		}, "new trace"},
		"Old run": {"its removal belongs to the newest one", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run, converged).begins()
			c.wait(time.Minute)
			c.store("nightly-2", run).begins()
			c.gone("nightly-1")
		}, "below nightly-2 (time)"},
		"Old run of several": {"its removal belongs to the newest one", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run, converged).begins()
			c.wait(time.Minute)
			c.store("nightly-2", run).begins()
			c.store("nightly-3", run).begins()
			c.gone("nightly-1")
		}, "below nightly-3 (time)"},
		"Old run after a removed one": {"the newest one is gone", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run, converged).begins()
			c.wait(time.Minute)
			c.store("nightly-2", run).begins()
			c.store("nightly-3", run).begins()
			c.gone("nightly-3")
			c.gone("nightly-1")
		}, "below nightly-2 (time)"},
		"Old run much later": {"the trace of the newest one has ended", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run, converged).begins()
			c.wait(time.Minute)
			c.store("nightly-2", run, converged).begins()
			c.wait(time.Minute)
			c.gone("nightly-1")
		}, "no cause"},
		"Old run after a deletion": {"the newest one is on its way out", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run, converged).begins()
			c.store("nightly-2", run).begins()
			c.store("nightly-2", deleting).begins()
			c.gone("nightly-1")
		}, "no cause"},
		"Newest run": {"no newer one is open", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run, converged).begins()
			c.wait(time.Minute)
			c.gone("nightly-1")
		}, "no cause"},
		"Deleted schedule": {"the removal of the schedule is the cause", func(c *cluster) {
			nightly(c)
			c.store("nightly-1", run, converged).begins()
			c.wait(time.Minute)
			c.gone("nightly").begins()
			c.gone("nightly-1")
		}, "below nightly (owner)"},
	})
}

// TestByOwnerSlice: the first EndpointSlice belongs to its Service after any time, another one for the quiet time.
func TestByOwnerSlice(t *testing.T) {
	service := func(c *cluster) {
		c.store("shop", of("", "Service"), by("kubectl-create"), leaf("spec.selector[app]"), fresh, converged).begins()
	}
	slice := all(of("discovery.k8s.io", "EndpointSlice"), owned("", "Service", "shop"), by(change.Manager))
	testRule(t, plain(byOwner), map[string]ruleCase{
		"First": {"the Service had none", func(c *cluster) {
			service(c)
			c.wait(time.Minute)
			c.store("shop-1", slice)
		}, "below shop (owner)"},
		"Second": {"the Service may have two families of addresses", func(c *cluster) {
			service(c)
			c.store("shop-1", slice)
			c.store("shop-2", slice)
		}, "below shop (time)"},
		"Late second": {"the quiet time is over", func(c *cluster) {
			service(c)
			c.store("shop-1", slice)
			c.wait(time.Minute)
			c.store("shop-2", slice)
		}, "no cause"},
		"Unknown Service": {"its last change is unknown", func(c *cluster) {
			c.store("shop-1", slice)
		}, "no cause"},
		"Updated": {"an update follows from the endpoints", func(c *cluster) {
			service(c)
			c.store("shop-1", slice)
			c.store("shop-1", by(change.Manager), leaf("endpoints[0]"))
		}, "no cause"},
		"Found slice": {"the Service had one before the start", func(c *cluster) {
			c.found("shop-0", slice)
			c.wait(time.Minute)
			service(c)
			c.wait(time.Minute)
			c.store("shop-1", slice)
		}, "no cause"},
		"After a removed one": {"the Service had none at its last change", func(c *cluster) {
			service(c)
			c.store("shop-1", slice)
			c.gone("shop-1").below("shop")
			c.wait(time.Minute)
			c.store("shop", by("kubectl-edit"), leaf("spec.selector[app]"), converged).begins()
			c.wait(time.Minute)
			c.store("shop-2", slice)
		}, "below shop (owner)"},
		"Audited person": {"the log names a person", func(c *cluster) {
			service(c)
			c.audited(c.store("shop-1", slice), "alice", "kubectl/v1.36")
		}, "no cause"},
		"No user in the log": {"the field manager decides", func(c *cluster) {
			service(c)
			c.audited(c.store("shop-1", slice), "", "kubectl/v1.36")
		}, "below shop (owner)"},
		"By a person": {"the controller did not make it", func(c *cluster) {
			service(c)
			c.store("shop-1", slice, func(st *state) { st.Managers = nil }, by("kubectl-create"))
		}, "no cause"},
		"Lost": {"a slice in place of a lost one heals", func(c *cluster) {
			service(c)
			c.store("shop-1", slice)
			c.wait(time.Minute)
			c.gone("shop-1").begins()
			c.store("shop-2", slice)
		}, "new trace, heals shop-1 ~owner shop ~heals shop-1"},
	})
}

// TestByOwnerOpaque: nothing shows when an unknown controller has handled a change. The quiet time decides, except for
// the first dependant of a role and the first update.
func TestByOwnerOpaque(t *testing.T) {
	head := func(c *cluster) {
		c.store("head", custom("Head"), converged, func(st *state) { st.ObservedGeneration = -1 }).begins()
	}
	testRule(t, plain(byOwner), map[string]ruleCase{
		"At once": {"the quiet time is not over", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail"))
		}, "below head (owner)"},
		"Second of a role at once": {"only the quiet time keeps the owner open", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.store("head-1", childOfHead("Tail"))
		}, "below head (time)"},
		"First of a role": {"it comes after any delay", func(c *cluster) {
			head(c)
			c.wait(time.Minute)
			c.store("head-0", childOfHead("Tail"))
		}, "below head (owner)"},
		"Another name lost": {"it replaces the lost object under a name of its own", func(c *cluster) {
			head(c)
			c.store("tail-a", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.gone("tail-a").begins()
			c.store("tail-b", childOfHead("Tail"))
		}, "new trace, heals tail-a ~owner head ~heals tail-a"},
		"Another kind lost": {"the new object is of another kind", func(c *cluster) {
			head(c)
			c.store("tail", childOfHead("Tail")).below("head")
			c.store("body-0", childOfHead("Body")).below("head")
			c.wait(time.Minute)
			c.gone("tail").begins()
			c.store("body-1", childOfHead("Body"))
		}, "new trace ~owner head"},
		"Second of a role": {"the quiet time is over", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head-1", childOfHead("Tail"))
		}, "new trace ~owner head"},
		"Another role": {"each role has a first dependant", func(c *cluster) {
			head(c)
			c.store("head-primary", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head-replica", childOfHead("Tail"))
		}, "below head (owner)"},
		"Generated name": {"the generated names have one role", func(c *cluster) {
			generated := func(st *state) { st.GenerateName = "head-" }
			head(c)
			c.store("head-primary", childOfHead("Tail"), generated).below("head")
			c.wait(time.Minute)
			c.store("head-replica", childOfHead("Tail"), generated)
		}, "new trace ~owner head"},
		"First of a role since a change": {"older dependants do not count", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.wait(time.Minute)
			c.store("head-1", childOfHead("Tail"))
		}, "below head (owner)"},
		"Update after a loss": {"the loss may be the cause", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.store("head-1", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.gone("head-1").begins()
			c.wait(10 * time.Second)
			c.store("head-0", by("head-controller"), leaf("spec.size"))
		}, "new trace ~owner head"},
		"Update after that of another": {"both follow from the change", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.store("head-1", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.store("head-1", by("head-controller"), leaf("spec.size")).below("head")
			c.wait(10 * time.Second)
			c.store("head-0", by("head-controller"), leaf("spec.size"))
		}, "below head (time)"},
		"Second update": {"only the first one follows after the quiet time", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.store("head-0", by("head-controller"), leaf("spec.size")).below("head")
			c.wait(10 * time.Second)
			c.store("head-0", by("head-controller"), leaf("spec.size"))
		}, "new trace ~owner head"},
		"Update after a label": {"a person labelled a dependant", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.store("head-0", by("kubectl-label"), leaf("metadata.labels[x]")).instant()
			c.wait(10 * time.Second)
			c.store("head-0", by("head-controller"), leaf("spec.size"))
		}, "new trace ~owner head"},
		"First update": {"it follows within a minute", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.wait(10 * time.Second)
			c.store("head-0", by("head-controller"), leaf("spec.size"))
		}, "below head (time)"},
		"Late update": {"more than a minute is over", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.wait(90 * time.Second)
			c.store("head-0", by("head-controller"), leaf("spec.size"))
		}, "new trace ~owner head"},
		"Update after another change": {"somebody else changed a dependant", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.wait(5 * time.Second)
			c.store("head-0", by("kubectl-edit"), leaf("spec.other")).begins()
			c.wait(5 * time.Second)
			c.store("head-0", by("head-controller"), leaf("spec.size"))
		}, "new trace ~owner head"},
		"Deletion": {"nothing shows why the controller deletes", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.gone("head-0")
		}, "below head (time)"},
	})
}

// TestByOwnerAudited: the audit log decides about the author of a write.
func TestByOwnerAudited(t *testing.T) {
	const account = ControllerAccounts + "replicaset-controller"
	made := func(user string, more ...func(*write)) func(*cluster) {
		return func(c *cluster) {
			web(c)
			c.audited(c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1")), user, managerAgent, more...)
		}
	}
	testRule(t, plain(byOwner), map[string]ruleCase{
		"Controller": {"it has the account of the controller", made(account), "below web-1 (owner)"},
		"Manager": {
			"all controllers may share a user", made("system:kube-controller-manager"), "below web-1 (owner)",
		},
		"Other controller": {"it has another account", made(ControllerAccounts + "job-controller"), "no cause"},
		"Person":           {"a person made the Pod", made("alice"), "no cause"},
		"Forged": {"an unauthenticated log decides nothing", made("alice", func(q *write) {
			q.Unauthenticated = true
		}), "below web-1 (owner)"},
		"No user": {"the log does not name the author", made(""), "below web-1 (owner)"},
		"Other program": {"the account of the controller is enough", func(c *cluster) {
			web(c)
			c.audited(c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1")), account, "vendor/v1")
		}, "below web-1 (owner)"},
		"User agent": {"the program is the controller", func(c *cluster) {
			web(c)
			c.audited(c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1")), "vendor", "replicaset-controller/v1")
		}, "below web-1 (owner)"},
		"Other user": {"the user has no account in kube-system", func(c *cluster) {
			web(c)
			c.audited(c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1")), "replicaset-controller", "vendor/v1")
		}, "no cause"},
		"Kind without effects": {"other controllers work for the owner, too", func(c *cluster) {
			c.store("node-1", aNode, converged).begins()
			c.wait(time.Minute)
			c.audited(c.store("mirror", pod, owned("", "Node", "node-1"), by("vendor")), "alice", "vendor/v1")
		}, "new trace ~owner node-1"},
		"Renamed account": {"the account of the DaemonSet controller has another name", func(c *cluster) {
			c.store("agent", of("apps", "DaemonSet"), by("kubectl-create"), wants(1), fresh).begins()
			c.audited(c.store("agent-x", podOf("apps", "DaemonSet", "agent")),
				ControllerAccounts+"daemon-set-controller", managerAgent)
		}, "below agent (owner)"},
	})
}

// TestByOwnerMaker: for an owner of an unknown kind, the log compares the author with the maker of the object.
func TestByOwnerMaker(t *testing.T) {
	const operator = "system:serviceaccount:heads:operator"
	child := childOfHead("Tail")
	update := all(by("head-controller"), leaf("spec.size"))
	head := func(c *cluster) { c.store("head", custom("Head"), pending).begins() }
	unauthenticated := func(q *write) { q.Unauthenticated = true }
	testRule(t, plain(byOwner), map[string]ruleCase{
		"Same user": {"the maker writes again", func(c *cluster) {
			head(c)
			c.audited(c.store("tail", child).below("head"), operator, "head/v1")
			c.audited(c.store("tail", update), operator, "head/v1")
		}, "below head (owner)"},
		"Another user": {"somebody else writes with the same field manager", func(c *cluster) {
			head(c)
			c.audited(c.store("tail", child).below("head"), operator, "head/v1")
			c.audited(c.store("tail", update), "alice", "head/v1")
		}, "no cause"},
		"Unknown maker": {"the field manager decides", func(c *cluster) {
			head(c)
			c.store("tail", child).below("head")
			c.audited(c.store("tail", update), "alice", "head/v1")
		}, "below head (owner)"},
		"Forged maker": {"an unauthenticated log decides nothing", func(c *cluster) {
			head(c)
			c.audited(c.store("tail", child).below("head"), operator, "head/v1", unauthenticated)
			c.audited(c.store("tail", update), "alice", "head/v1")
		}, "below head (owner)"},
		"Audited deletion": {"the maker deletes", func(c *cluster) {
			head(c)
			c.audited(c.store("tail", child).below("head"), operator, "head/v1")
			c.audited(c.gone("tail"), operator, "head/v1")
		}, "below head (owner)"},
	})
}

// TestByOwnerManifest: the kubelet replaces a mirror Pod after an edit of its manifest.
func TestByOwnerManifest(t *testing.T) {
	node := func(c *cluster) {
		c.store("node-1", of("", "Node"), clusterScoped, by("kubelet"), converged).begins()
		c.wait(time.Minute)
	}
	soon := func(st *state) { st.Deleting, st.GraceSeconds = written(st).Add(time.Second), 1 }
	mirror := all(named("etcd"), pod, owned("", "Node", "node-1"), by("kubelet"), leaf(pathMirror), on("node-1"))
	testRule(t, plain(byOwner), map[string]ruleCase{
		"Edited": {"the new Pod has another manifest", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			c.gone("old").begins()
			c.store("new", mirror)
		}, "new trace ~previous old"},
		"Another static Pod": {"each static Pod has its own name", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			c.gone("old").begins()
			c.store("new", mirror, named("api"))
		}, "new trace ~owner node-1"},
		"Same manifest": {"the new Pod heals the loss of the old one", func(c *cluster) {
			node(c)
			same := c.rv + 1
			c.store("old", mirror).begins()
			c.gone("old").begins()
			c.store("new", mirror, func(st *state) { st.Leaves[0].Value = same })
		}, "new trace, heals old ~owner node-1 ~heals old"},
		"Old Pod": {"its deletion is a part of the change", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			end := c.store("old", deleting, soon)
			c.store("new", mirror).begins()
			c.askLast(end)
		}, "below new (relation)"},
		"Old Pod, by the kubelet": {"the log names the kubelet", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			end := c.store("old", deleting, soon)
			c.audited(end, "system:node:node-1", "kubelet/v1.36")
			c.store("new", mirror).begins()
			c.askLast(end)
		}, "below new (relation)"},
		"Old Pod, by a person": {"the log names a person", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			end := c.store("old", deleting, soon)
			c.audited(end, "alice", "kubectl/v1.36")
			c.store("new", mirror).begins()
			c.askLast(end)
		}, "no cause"},
		"Old Pod, long before": {"the kubelet creates the new Pod at once", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			end := c.store("old", deleting, soon)
			c.wait(time.Minute)
			c.store("new", mirror).begins()
			c.askLast(end)
		}, "no cause"},
		"Old Pod of another name": {"the new Pod is that of another manifest", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			end := c.store("old", deleting, soon)
			c.store("new", mirror, named("api")).begins()
			c.askLast(end)
		}, "no cause"},
		"New Pod beside the old one": {"the old Pod is on its way out", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			old := c.store("old", deleting, soon)
			c.facts = c.facts[:len(c.facts)-1] // its deletion is placed later
			c.store("new", mirror)
			c.ask()
			c.facts = append(c.facts, old)
		}, "new trace ~previous old"},
		"Deleted alone": {"no new Pod follows", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			c.store("old", deleting)
		}, "no cause"},
	})
}
