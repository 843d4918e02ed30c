// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// nodeName returns the name of a Node.
func nodeName(name string) object.Name { return change.NodeName(name) }

// TestByNode: the first Pod of a DaemonSet on a Node belongs to the change that made the Node eligible.
func TestByNode(t *testing.T) {
	set := func(c *cluster) {
		c.store("agent", daemonSet(0), converged).begins()
		c.wait(time.Minute)
	}
	node := func(c *cluster) {
		c.store("node-1", aNode).begins()
	}
	agent := all(podOf("apps", "DaemonSet", "agent"), refers(object.Placed, nodeName("node-1")))
	testRule(t, byNode, map[string]ruleCase{
		"New Node": {"the Node was created after the DaemonSet", func(c *cluster) {
			set(c)
			node(c)
			c.store("agent-x", agent)
		}, "below node-1 (relation) ~owner agent"},
		"Unknown DaemonSet": {"there is no change to link", func(c *cluster) {
			node(c)
			c.store("agent-x", agent)
		}, "below node-1 (relation)"},
		"Labelled Node": {"a new label made it eligible", func(c *cluster) {
			node(c)
			set(c)
			c.store("node-1", by("kubectl-label"), leaf("metadata.labels[gpu]")).instant()
			c.store("agent-x", agent)
		}, "below node-1 (time) ~owner agent"},
		"Cordoned Node": {"a cordon makes it eligible for nothing", func(c *cluster) {
			node(c)
			set(c)
			c.store("node-1", by("kubectl-cordon"), leaf(pathUnschedulable)).instant()
			c.store("agent-x", agent)
		}, "no cause"},
		"Long after the label": {"more than the settling time is over", func(c *cluster) {
			node(c)
			set(c)
			c.store("node-1", by("kubectl-label"), leaf("metadata.labels[gpu]")).instant()
			c.wait(10 * time.Second)
			c.store("agent-x", agent)
		}, "no cause"},
		"Newer DaemonSet": {"the DaemonSet was changed after the Node", func(c *cluster) {
			node(c)
			set(c)
			c.store("agent-x", agent)
		}, "no cause"},
		"Second Pod": {"the Node already had one", func(c *cluster) {
			set(c)
			node(c)
			c.store("agent-w", agent).below("node-1")
			c.store("agent-x", agent)
		}, "no cause"},
		"Other Node": {"the Pod is for another Node", func(c *cluster) {
			set(c)
			node(c)
			c.store("agent-x", podOf("apps", "DaemonSet", "agent"), refers(object.Placed, nodeName("node-2")))
		}, "no cause"},
		"Pod of another Node": {"the other Node got its Pod", func(c *cluster) {
			set(c)
			node(c)
			elsewhere := refers(object.Placed, nodeName("node-2"))
			c.store("agent-w", podOf("apps", "DaemonSet", "agent"), elsewhere).below("agent")
			c.store("agent-x", agent)
		}, "below node-1 (relation) ~owner agent"},
		"Pod before the label": {"the Node had a Pod before it was changed", func(c *cluster) {
			node(c)
			set(c)
			c.store("agent-w", agent).below("agent")
			c.gone("agent-w").below("agent")
			c.store("node-1", by("kubectl-label"), leaf("metadata.labels[gpu]")).instant()
			c.store("agent-x", agent)
		}, "below node-1 (time) ~owner agent"},
		"By a person": {"the controller did not make the Pod", func(c *cluster) {
			set(c)
			node(c)
			c.audited(c.store("agent-x", agent), "alice", "kubectl/v1.36")
		}, "no cause"},
		"Deleted DaemonSet": {"its controller makes no Pods any more", func(c *cluster) {
			set(c)
			c.store("agent", deleting).begins()
			node(c)
			c.store("agent-x", agent)
		}, "no cause"},
		"Removed Node": {"the Node is gone", func(c *cluster) {
			set(c)
			node(c)
			c.gone("node-1")
			c.store("agent-x", agent)
		}, "no cause"},
		"Removed later": {"the Node was there at the time", func(c *cluster) {
			set(c)
			node(c)
			c.store("agent-x", agent)
			c.ask()
			c.gone("node-1")
		}, "below node-1 (relation) ~owner agent"},
		"Ready Node": {"the Node was ready just before", func(c *cluster) {
			set(c)
			node(c)
			c.wait(time.Minute)
			c.store("node-1", converged, condition("Ready", "True", "", "")).noted()
			c.store("agent-x", agent)
		}, "below node-1 (time) ~owner agent"},
		"Long ready Node": {"the Node was ready for more than the settling time", func(c *cluster) {
			set(c)
			node(c)
			c.store("node-1", converged, condition("Ready", "True", "", "")).noted()
			c.wait(10 * time.Second)
			c.store("agent-x", agent)
		}, "no cause"},
		"Removed taint": {"a person made the Node eligible", func(c *cluster) {
			c.store("node-1", aNode, leaf("spec.taints[key=x,effect=NoSchedule].key"), fresh).begins()
			set(c)
			c.store("node-1", by("kubectl-taint"), without("spec.taints[key=x,effect=NoSchedule].key")).instant()
			c.store("agent-x", agent)
		}, "below node-1 (time) ~owner agent"},
		"New taint": {"a taint makes a Node eligible for nothing", func(c *cluster) {
			node(c)
			set(c)
			c.store("node-1", by("kubectl-taint"), leaf("spec.taints[key=x,effect=NoSchedule].key")).instant()
			c.store("agent-x", agent)
		}, "no cause"},
		"Another removed field": {"it is no taint", func(c *cluster) {
			c.store("node-1", aNode, leaf("spec.configSource"), fresh).begins()
			set(c)
			c.store("node-1", by("kubectl-edit"), without("spec.configSource")).instant()
			c.store("agent-x", agent)
		}, "no cause"},
		"Lost Pod": {"the Pod replaces a lost one of the Node", func(c *cluster) {
			set(c)
			c.store("agent-w", agent, on("node-1")).below("agent")
			c.gone("agent-w").begins()
			node(c)
			c.store("agent-x", agent)
		}, "no cause"},
		"ReplicaSet": {"its Pods have no Node of their own", func(c *cluster) {
			web(c)
			node(c)
			c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1"), refers(object.Placed, nodeName("node-1")))
		}, "no cause"},
		"An update": {"only a creation follows", func(c *cluster) {
			set(c)
			c.store("agent-x", agent).below("agent")
			node(c)
			c.store("agent-x", by(change.Manager), leaf("spec.x"))
		}, "no cause"},
	})
}
