// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// inOrder applies all rules.
func inOrder(s *Scene, w *change.Write) (Cause, bool, []span.Link) { return Of(s, w), true, nil }

// TestOf: the first cause in the order of the rules counts. Links of the rules before it are kept.
func TestOf(t *testing.T) {
	testRule(t, inOrder, map[string]ruleCase{
		"No cause": {"a write without a cause begins a trace", func(c *cluster) {
			c.store("web", deployment(1))
		}, "new trace"},
		"Request before context": {"the user asked for the trace of the command", func(c *cluster) {
			c.run(traceA)
			c.requested(c.store("web", deployment(1), carrying(traceB, 1)), traceA)
		}, "below span ff of trace aaaa (request) ~annotation bbbb"},
		"Context before owner": {"the context names the parent", func(c *cluster) {
			c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1"), carrying(traceA, 1))
			c.ask()
			web(c)
		}, "below span 1 of trace aaaa outside (annotation)"},
		"Rejected context": {"the owner is the cause, and the context is a link", func(c *cluster) {
			web(c)
			c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1"), carrying(traceB, 2))
		}, "below web-1 (owner) ~annotation bbbb"},
		"Owner's end before eviction": {"the Pod goes with its owner", func(c *cluster) {
			settledWeb(c)
			c.store("node-1", aNode, converged).begins()
			c.store("web-1-a", on("node-1")).noted()
			c.store("node-1", by("kubectl-cordon"), leaf(pathUnschedulable)).instant()
			c.gone("web-1").begins()
			c.store("web-1-a", condition("DisruptionTarget", "True", "EvictionByEvictionAPI", ""), deleting)
		}, "below web-1 (owner)"},
		"Node before owner": {"the new Node wants the Pod", func(c *cluster) {
			c.store("agent", daemonSet(0), converged).begins()
			c.wait(time.Minute)
			c.store("node-1", aNode).begins()
			c.store("agent-x", podOf("apps", "DaemonSet", "agent"), refers(object.Placed, nodeName("node-1")))
		}, "below node-1 (relation) ~owner agent"},
		"Two kinds of links": {"a restart by a person has a link to the content only", func(c *cluster) {
			settings(c)
			c.wait(time.Minute)
			c.store("web", restart)
		}, "new trace ~config settings"},
		"Refused and wanted": {"the owner is the cause, and the quota is a link", func(c *cluster) {
			refusedPods(c)
			c.store("web-1-a", podOf("apps", "ReplicaSet", "web-1"))
		}, "below web-1 (owner) ~quota small"},
	})
}

// TestNewLine: every observer gives the trace of a write the same ID, and two writes have two IDs.
func TestNewLine(t *testing.T) {
	id := func(cluster string, edits int) string {
		c := newCluster()
		c.opts.Cluster = cluster
		c.store("web", deployment(1))
		for range edits {
			c.wait(time.Minute)
			c.store("web", by("kubectl-edit"), leaf(fieldImage))
		}
		w := c.set()
		l := newLine(c.scene, w)
		if l.First != w.RV {
			t.Errorf("the trace begins at %d, want %d", l.First, w.RV)
		}
		return l.ID.String()
	}
	if a, b := id("test", 0), id("test", 0); a != b {
		t.Errorf("one write has the traces %s and %s", a, b)
	}
	seen := map[string]bool{id("test", 0): true, id("test", 1): true, id("test", 2): true, id("other", 0): true}
	if len(seen) != 4 {
		t.Errorf("four writes have %d traces", len(seen))
	}
	c := newCluster()
	c.store("web", deployment(1))
	w := c.set()
	known := &change.Lineage{ID: derivedID(c.scene, w)}
	c.scene.Placed.Lines[known.ID] = known
	if newLine(c.scene, w) != known {
		t.Error("a known trace is made again")
	}
}

// TestApply: one function records the trace and that of the loss, another one the replaced object.
func TestApply(t *testing.T) {
	c := newCluster()
	settledWeb(c)
	c.gone("web-1-a").begins()
	c.store("web-1-c", podOf("apps", "ReplicaSet", "web-1"))
	w := c.set()
	got := Of(c.scene, w)
	lost := c.index.View().Object("uid-web-1-a")
	if _, replaced := Departed(c.scene, lost); replaced || c.scene.Placed.Lines[got.Line.ID] != nil {
		t.Fatal("a rule recorded its cause")
	}
	Apply(c.scene, &got)
	if c.scene.Placed.Lines[got.Line.ID] != got.Line {
		t.Error("the new trace is not recorded")
	}
	Occupy(c.scene, w)
	if gone, replaced := Departed(c.scene, lost); !gone || !replaced {
		t.Errorf("lost %t, replaced %t; want both", gone, replaced)
	}
	want := []*change.Lineage{c.scene.Placed.Current("uid-web-1-a").Lineage}
	if len(got.Line.Follows) != 1 || got.Line.Follows[0] != want[0] {
		t.Errorf("the trace follows %v, want that of the loss", got.Line.Follows)
	}
	// The next Pod replaces nothing: there is one loss.
	if next := lossOf(c.scene, w, &w.Owners()[0]); next != nil {
		t.Errorf("%s is lost for a second time", next.timeline.Ref.Name)
	}
}
