// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// TestByEviction: the mark on a Pod names the kind of its eviction, and its Node names the change.
func TestByEviction(t *testing.T) {
	marked := func(reason string) trait { return all(condition("DisruptionTarget", "True", reason, ""), deleting) }
	cordon := all(by("kubectl-cordon"), leaf(pathUnschedulable))
	taint := "spec.taints[key=maintenance,effect=NoExecute].key"
	// running stores a Node with a Pod.
	running := func(c *cluster) {
		c.store("node-1", aNode, converged).begins()
		c.store("web-a", pod, by("kubectl-run"), on("node-1"), converged).begins()
		c.wait(time.Minute)
	}
	testRule(t, byEviction, map[string]ruleCase{
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
		"Another user": {"another user evicts", func(c *cluster) {
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

// TestPreemption: the Pod nominated for the Node is the cause. An Event names one of several.
func TestPreemption(t *testing.T) {
	victim := func(c *cluster) {
		c.store("low", pod, by("kubectl-run"), on("node-1"), converged).begins()
	}
	nominated := func(c *cluster, name string) {
		c.store(name, pod, by("kubectl-run")).begins()
		c.store(name, refers("nominated", nodeName("node-1"))).noted()
	}
	preempted := all(condition("DisruptionTarget", "True", "PreemptionByScheduler", ""), deleting)
	testRule(t, byEviction, map[string]ruleCase{
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
		"Several": {"two Pods are possible", func(c *cluster) {
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
			c.event("other", "low", "Preempted", "Preempted by a pod", "higher")
		}, "no cause"},
	})
}

// TestDrain: the cordon by a user that was in effect at a time.
func TestDrain(t *testing.T) {
	cordoned := func(c *cluster) {
		c.store("node-1", aNode, converged).begins()
		c.audited(c.store("node-1", by("kubectl-cordon"), leaf(pathUnschedulable)).instant(), "alice", "kubectl/v1.36")
	}
	uncordoned := func(c *cluster) {
		uncordon := all(by("kubectl-uncordon"), without(pathUnschedulable))
		c.audited(c.store("node-1", uncordon).instant(), "alice", "kubectl/v1.36")
	}
	for name, tc := range map[string]struct {
		reason string
		tell   func(*cluster)
		user   string
		after  time.Duration
		want   bool
	}{
		"Same user":    {"the user drains", cordoned, "alice", time.Minute, true},
		"Another user": {"another user evicts", cordoned, "bob", time.Minute, false},
		"Unknown user": {"nothing names the user", cordoned, "", time.Minute, false},
		"Before":       {"the cordon came later", cordoned, "alice", -time.Minute, false},
		"Uncordoned": {"the cordon had ended", func(c *cluster) {
			cordoned(c)
			uncordoned(c)
		}, "alice", time.Minute, false},
		"Labelled since": {"another field changed since", func(c *cluster) {
			cordoned(c)
			c.store("node-1", by("kubectl-label"), leaf("metadata.labels[x]")).instant()
		}, "alice", time.Minute, true},
		"Uncordoned later": {"the cordon was in effect then", func(c *cluster) {
			cordoned(c)
			c.wait(time.Hour)
			uncordoned(c)
		}, "alice", time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			tc.tell(c)
			c.store("other", pod)
			c.set()
			if r := Drain(c.scene, "node-1", tc.user, epoch.Add(tc.after)); (r != nil) != tc.want {
				t.Errorf("%s: got %+v, want one %t", tc.reason, r, tc.want)
			}
		})
	}
}
