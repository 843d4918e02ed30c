// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// TestByOwnersEnd: the removal of an object belongs to the deletion of an owner, or of its Namespace.
func TestByOwnersEnd(t *testing.T) {
	secret := all(of("", "Secret"), by("kubectl-create"))
	other := func(st *state) { st.ResourceVersion, st.Order = st.ResourceVersion+1000, st.ResourceVersion }
	namespace := func(c *cluster) {
		c.store("default", of("", "Namespace"), clusterScoped, by("kubectl-create"), converged).begins()
	}
	testRule(t, plain(ByOwnersEnd), map[string]ruleCase{
		"After its owner": {"the owner was deleted before", func(c *cluster) {
			settledWeb(c)
			c.gone("web").begins()
			c.gone("web-1")
		}, "below web (owner)"},
		"An update": {"only a deletion follows from one", func(c *cluster) {
			settledWeb(c)
			c.gone("web").begins()
			c.store("web-1", wants(0))
		}, "no cause"},
		"The owner stays": {"the owner was only changed", func(c *cluster) {
			settledWeb(c)
			c.store("web", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.gone("web-1")
		}, "no cause"},
		"Not its controller": {"each owner counts", func(c *cluster) {
			settledWeb(c)
			c.store("notes", secret, plainlyOwned("apps", "Deployment", "web"))
			c.gone("web").begins()
			c.gone("notes")
		}, "below web (owner)"},
		"Owner of another namespace": {"the author of an object could write any UID", func(c *cluster) {
			settledWeb(c)
			c.store("notes", secret, plainlyOwned("apps", "Deployment", "web"), elsewhere)
			c.gone("web").begins()
			c.gone("notes")
		}, "no cause"},
		"Other storage": {"a removal has no time of its own", func(c *cluster) {
			settledWeb(c)
			c.store("load", of("metrics.example.com", "Load"), plainlyOwned("apps", "Deployment", "web"), other)
			c.gone("web").begins()
			c.gone("load")
		}, "below web (time)"},
		"Owner in another storage": {"its removal has no time of its own", func(c *cluster) {
			c.store("load", of("metrics.example.com", "Load"), other).begins()
			c.store("notes", secret, plainlyOwned("metrics.example.com", "Load", "load"))
			c.gone("load").begins()
			c.gone("notes")
		}, "below load (time)"},
		"Namespace": {"its deletion removes all contents", func(c *cluster) {
			namespace(c)
			c.store("notes", secret)
			c.store("default", deleting).begins()
			c.gone("notes")
		}, "below default (relation)"},
		"Namespace stays": {"its creation removes nothing", func(c *cluster) {
			namespace(c)
			c.store("notes", secret)
			c.gone("notes")
		}, "no cause"},
		"Other namespace": {"the object is in another one", func(c *cluster) {
			namespace(c)
			c.store("notes", secret, elsewhere)
			c.store("default", deleting).begins()
			c.gone("notes")
		}, "no cause"},
		"Cluster-scoped": {"the object is in none", func(c *cluster) {
			namespace(c)
			c.store("disk", of("", "PersistentVolume"), clusterScoped)
			c.store("default", deleting).begins()
			c.gone("disk")
		}, "no cause"},
	})
}

// TestByEviction: the mark on a Pod names the kind of its eviction, and its Node names the change.
func TestByEviction(t *testing.T) {
	marked := func(reason string) trait { return all(condition("DisruptionTarget", "True", reason, ""), deleting) }
	cordon := all(by("kubectl-cordon"), leaf(pathUnschedulable))
	taint := "spec.taints[key=maintenance,effect=NoExecute].key"
	// running tells of a Node with a Pod.
	running := func(c *cluster) {
		c.store("node-1", aNode, converged).begins()
		c.store("web-a", pod, by("kubectl-run"), on("node-1"), converged).begins()
		c.wait(time.Minute)
	}
	testRule(t, plain(byEviction), map[string]ruleCase{
		"Drain": {"the cordon came shortly before", func(c *cluster) {
			running(c)
			c.store("node-1", cordon).instant()
			c.store("web-a", marked("EvictionByEvictionAPI"))
		}, "below node-1 (time)"},
		"Long after the cordon": {"an unknown user has ten minutes", func(c *cluster) {
			running(c)
			c.store("node-1", cordon).instant()
			c.wait(11 * time.Minute)
			c.store("web-a", marked("EvictionByEvictionAPI"))
		}, "no cause"},
		"Uncordoned": {"the cordon was not in effect", func(c *cluster) {
			running(c)
			c.store("node-1", cordon).instant()
			c.store("node-1", without(pathUnschedulable)).instant()
			c.store("web-a", marked("EvictionByEvictionAPI"))
		}, "no cause"},
		"Same user": {"the user of the cordon evicts, at any time", func(c *cluster) {
			running(c)
			c.audited(c.store("node-1", cordon).instant(), "alice", "kubectl/v1.36")
			c.wait(11 * time.Minute)
			c.audited(c.store("web-a", marked("EvictionByEvictionAPI")), "alice", "kubectl/v1.36")
		}, "below node-1 (relation)"},
		"Another user": {"somebody else evicts", func(c *cluster) {
			running(c)
			c.audited(c.store("node-1", cordon).instant(), "alice", "kubectl/v1.36")
			c.audited(c.store("web-a", marked("EvictionByEvictionAPI")), "bob", "kubectl/v1.36")
		}, "no cause"},
		"Only marked": {"the Pod is not deleted yet", func(c *cluster) {
			running(c)
			c.store("node-1", cordon).instant()
			c.store("web-a", condition("DisruptionTarget", "True", "EvictionByEvictionAPI", ""))
		}, "no cause"},
		"Removed at once": {"the last version has the mark", func(c *cluster) {
			running(c)
			c.store("node-1", cordon).instant()
			c.store("web-a", condition("DisruptionTarget", "True", "EvictionByEvictionAPI", ""))
			c.gone("web-a")
		}, "below node-1 (time)"},
		"No cordon": {"the Node was not changed", func(c *cluster) {
			running(c)
			c.store("web-a", marked("EvictionByEvictionAPI"))
		}, "no cause"},
		"One known user": {"the log has only the eviction", func(c *cluster) {
			running(c)
			c.store("node-1", cordon).instant()
			c.audited(c.store("web-a", marked("EvictionByEvictionAPI")), "alice", "kubectl/v1.36")
		}, "below node-1 (time)"},
		"Forged users": {"an unauthenticated log decides nothing", func(c *cluster) {
			running(c)
			forged := func(q *write) { q.Unauthenticated = true }
			c.audited(c.store("node-1", cordon).instant(), "alice", "kubectl/v1.36", forged)
			c.audited(c.store("web-a", marked("EvictionByEvictionAPI")), "bob", "kubectl/v1.36", forged)
		}, "below node-1 (time)"},
		"Lost Node": {"the taints of a lost Node replace each other", func(c *cluster) {
			running(c)
			unreachable := all(by(theManager), leaf(kind.LossTaints[0]))
			c.store("node-1", unreachable).instant()
			c.store("node-1", by(theManager), without(kind.LossTaints[0]), leaf(kind.LossTaints[1]))
			c.store("web-a", marked("DeletionByTaintManager"))
		}, "below node-1 (relation)"},
		"Unmarked": {"a deletion without a mark is no eviction", func(c *cluster) {
			running(c)
			c.store("node-1", cordon).instant()
			c.store("web-a", deleting)
		}, "no cause"},
		"Not bound": {"the Pod has no Node", func(c *cluster) {
			running(c)
			c.store("web-b", pod, by("kubectl-run"))
			c.store("node-1", cordon).instant()
			c.store("web-b", marked("EvictionByEvictionAPI"))
		}, "no cause"},
		"Taint": {"the taint is still there", func(c *cluster) {
			running(c)
			c.store("node-1", by("kubectl-taint"), leaf(taint)).instant()
			c.wait(time.Hour)
			c.store("web-a", marked("DeletionByTaintManager"))
		}, "below node-1 (relation)"},
		"Removed taint": {"the taint is gone", func(c *cluster) {
			running(c)
			c.store("node-1", by("kubectl-taint"), leaf(taint)).instant()
			c.store("node-1", without(taint)).instant()
			c.store("web-a", marked("DeletionByTaintManager"))
		}, "no cause"},
		"Other taint": {"it does not evict", func(c *cluster) {
			running(c)
			c.store("node-1", by("kubectl-taint"), leaf("spec.taints[key=maintenance,effect=NoSchedule].key")).instant()
			c.store("web-a", marked("DeletionByTaintManager"))
		}, "no cause"},
		"End of the Node": {"the Node was deleted before", func(c *cluster) {
			running(c)
			c.gone("node-1").begins()
			c.store("web-a", marked("DeletionByPodGC"))
		}, "below node-1 (relation)"},
		"Node stays": {"the Node was not deleted", func(c *cluster) {
			running(c)
			c.store("web-a", marked("DeletionByPodGC"))
		}, "no cause"},
	})
}

// TestByPreemption: the Pod nominated for the Node is the cause. An Event names one of several.
func TestByPreemption(t *testing.T) {
	victim := func(c *cluster) {
		c.store("low", pod, by("kubectl-run"), on("node-1"), converged).begins()
	}
	nominated := func(c *cluster, name string) {
		c.store(name, pod, by("kubectl-run")).begins()
		c.store(name, refers("nominated", nodeName("node-1"))).noted()
	}
	preempted := all(condition("DisruptionTarget", "True", "PreemptionByScheduler", ""), deleting)
	testRule(t, plain(byEviction), map[string]ruleCase{
		"One": {"only one Pod is nominated", func(c *cluster) {
			victim(c)
			nominated(c, "high")
			c.store("low", preempted)
		}, "below high (relation)"},
		"None": {"no Pod is nominated", func(c *cluster) {
			victim(c)
			c.store("low", preempted)
		}, "no cause"},
		"Bound": {"the nominated Pod had its Node before", func(c *cluster) {
			victim(c)
			nominated(c, "high")
			c.store("high", on("node-1")).noted()
			c.store("low", preempted)
		}, "no cause"},
		"Several": {"nothing tells two Pods apart", func(c *cluster) {
			victim(c)
			nominated(c, "high")
			nominated(c, "higher")
			c.store("low", preempted)
		}, "no cause"},
		"Several with an Event": {"the scheduler's Event names one", func(c *cluster) {
			victim(c)
			nominated(c, "high")
			nominated(c, "higher")
			c.store("low", preempted)
			c.event("kube-scheduler", "low", "Preempted", "Preempted by a pod", "higher")
		}, "below higher (event)"},
		"Event after the handover": {"the trace of the write was handed out before", func(c *cluster) {
			victim(c)
			nominated(c, "high")
			nominated(c, "higher")
			c.store("low", preempted)
			c.ask()
			c.event("kube-scheduler", "low", "Preempted", "Preempted by a pod", "higher")
			c.takenOwn = true
		}, "no cause"},
		"From before the start": {"the change of the nominated Pod is unknown", func(c *cluster) {
			victim(c)
			c.found("high", pod, refers("nominated", nodeName("node-1")), converged)
			c.store("low", preempted)
		}, "no cause"},
		"In deletion": {"the nominated Pod is on its way out", func(c *cluster) {
			victim(c)
			nominated(c, "high")
			c.store("high", deleting).begins()
			c.store("low", preempted)
		}, "no cause"},
		"Nominated itself": {"the Pod was nominated before", func(c *cluster) {
			nominated(c, "low")
			nominated(c, "high")
			c.store("low", preempted, func(st *state) { st.Pod.Node = "node-1" })
		}, "below high (relation)"},
		"Event of another reporter": {"only the scheduler counts", func(c *cluster) {
			victim(c)
			nominated(c, "high")
			nominated(c, "higher")
			c.store("low", preempted)
			c.event("somebody", "low", "Preempted", "Preempted by a pod", "higher")
		}, "no cause"},
	})
}
