// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// managedBy names the only field manager of the object.
func managedBy(manager string) func(*observation.State) {
	return func(st *observation.State) {
		st.Managers = []observation.Manager{{Name: manager, Operation: "Update", Fields: st.ResourceVersion}}
	}
}

// lost is a taint of the node lifecycle controller on a Node without heartbeats, and notReady one on a
// Node with a broken kubelet.
func lost(st *observation.State) {
	managedBy(change.Manager)(st)
	set(kind.LossTaints[0])(st)
	st.Generation, st.Progress = 0, observation.ProgressInProgress
	st.ProgressMessage = "Kubelet stopped posting node status."
}

func notReady(st *observation.State) {
	managedBy(change.Manager)(st)
	set(kind.LossTaints[1])(st)
	st.Generation = 0
}

// back removes the taints. Without other fields of theirs, the writer stays unknown.
func back(st *observation.State) {
	drop(kind.LossTaints[0])(st)
	drop(kind.LossTaints[1])(st)
	st.Progress, st.ProgressMessage = observation.ProgressCurrent, ""
}

// evicted deletes a Pod of a lost Node.
func (s *story) evicted(pod string) {
	s.write(pod, func(st *observation.State) {
		st.Deleting, st.GraceSeconds = s.now().Add(30*time.Second), 30
		st.Conditions = []observation.Condition{{Type: "DisruptionTarget", Status: "True", Reason: change.Tainted}}
	})
}

// elsewhere makes the replacement of a Pod, on another Node.
func (s *story) elsewhere(name string) {
	s.write(name, pod("web-1"))
	s.write(name, func(st *observation.State) { st.Pod.Node = "node-2" })
	s.write(name, ready)
}

// settledNode returns a story with a Node and a Pod from long before the change.
func settledNode() *story {
	s := newStory()
	s.write("node-1", aNode)
	s.rollout()
	s.wait(time.Minute)
	s.before()
	return s
}

// TestNodeLoss: the taint of a lost Node begins a change that lasts until the Node is back.
func TestNodeLoss(t *testing.T) {
	const evictions = `    reconcile Pod web-1-a deleted (relation)
      terminate web-1-a
`
	const healing = `trace 1 converged
  reconcile Pod web-1-b converged ~heals
    schedule web-1-b
    sandbox web-1-b
`
	cases := map[string]struct {
		reason string
		tell   func(*story)
		want   string
	}{
		"back": {"the loss ends with its last eviction", func(s *story) {
			s.write("node-1", lost)
			s.wait(5 * time.Second)
			s.evicted("web-1-a")
			s.elsewhere("web-1-b")
			s.wait(time.Minute)
			s.write("node-1", back)
			s.gone("web-1-a")
		}, "trace 0 converged\n  reconcile Node node-1 converged\n" + evictions + healing},
		"still lost": {"the Node may come back", func(s *story) {
			s.write("node-1", lost)
			s.wait(5 * time.Second)
			s.evicted("web-1-a")
			s.gone("web-1-a")
		}, "trace 0 unfinished: Node node-1 is not ready: Kubelet stopped posting node status\n" +
			"  reconcile Node node-1\n" + evictions},
		"lost for long": {"nothing has happened for an hour", func(s *story) {
			s.write("node-1", lost)
			s.wait(2 * time.Hour)
		}, "trace 0 unfinished: Node node-1 is not ready: Kubelet stopped posting node status\n" +
			"  reconcile Node node-1 unfinished\n"},
		"a broken kubelet": {"one taint replaces the other", func(s *story) {
			s.write("node-1", lost)
			s.write("node-1", notReady)
			s.write("node-1", drop(kind.LossTaints[0]))
			s.wait(5 * time.Second)
			s.evicted("web-1-a")
			s.gone("web-1-a")
			s.write("node-1", back)
		}, "trace 0 converged\n  reconcile Node node-1 converged\n" + evictions},
		"lost again": {"each loss is a change", func(s *story) {
			s.write("node-1", lost)
			s.wait(time.Minute)
			s.write("node-1", back)
			s.wait(time.Minute)
			s.write("node-1", lost)
			s.wait(time.Minute)
			s.write("node-1", back)
		}, "trace 0 converged\n  reconcile Node node-1 converged\n" +
			"trace 1 converged\n  reconcile Node node-1 converged\n"},
		"deleted": {"the deletion takes the Pods that were not evicted", func(s *story) {
			s.write("node-1", lost)
			s.wait(time.Minute)
			s.gone("node-1")
			s.wait(45 * time.Second)
			s.write("web-1-a", func(st *observation.State) {
				st.Conditions = []observation.Condition{
					{Type: "DisruptionTarget", Status: "True", Reason: change.Collected},
				}
			})
			s.gone("web-1-a")
		}, "trace 0 superseded\n  reconcile Node node-1 superseded\n" +
			"trace 1 deleted\n  reconcile Node node-1 deleted\n    reconcile Pod web-1-a deleted (relation)\n" +
			"      terminate web-1-a\n"},
		"a person's taint": {"the taint is a change of its author", func(s *story) {
			s.write("node-1", lost, managedBy("kubectl-taint"))
			s.wait(5 * time.Second)
			s.evicted("web-1-a")
			s.gone("web-1-a")
		}, "trace 0 converged\n  reconcile Node node-1 converged\n" + evictions},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := settledNode()
			tc.tell(s)
			if diff := cmp.Diff(tc.want, s.outline(t)); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
			}
			inAnyOrder(t, s, outline)
		})
	}
}

// TestNodeLossAuthor: the node lifecycle controller is the author, although its field manager is that of
// many.
func TestNodeLossAuthor(t *testing.T) {
	s := settledNode()
	s.write("node-1", lost)
	if got := observe(s.seen).Traces(s.now())[0].Root().Service; got != change.NodeController {
		t.Errorf("got a change by %q", got)
	}
}

// TestNewNodeIsNotLost: the taints of a Node that has never been ready are steps of its creation.
func TestNewNodeIsNotLost(t *testing.T) {
	s := newStory()
	s.write("node-1", aNode, managedBy("kubelet"), joining)
	s.write("node-1", notReady)
	s.wait(time.Minute)
	s.write("node-1", back)
	want := "trace 0 converged\n  reconcile Node node-1 converged\n"
	if diff := cmp.Diff(want, s.outline(t)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestNodeFoundLost: the loss of a Node that is lost at the start goes on.
func TestNodeFoundLost(t *testing.T) {
	s := newStory()
	s.write("node-1", aNode, lost)
	s.rollout()
	s.before()
	s.wait(time.Minute)
	s.evicted("web-1-a")
	s.gone("web-1-a")
	s.write("node-1", back)
	want := "trace 0 converged\n  reconcile Node node-1 converged\n" +
		"    reconcile Pod web-1-a deleted (relation)\n      terminate web-1-a\n"
	if diff := cmp.Diff(want, s.outline(t)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// joining is a Node before it is ready.
func joining(st *observation.State) { st.Progress = observation.ProgressInProgress }

// agentOn is a Pod of the DaemonSet agent for a Node.
func agentOn(node string) func(*observation.State) {
	return func(st *observation.State) {
		pod("")(st)
		st.Owners = []object.Owner{{Kind: kind.DaemonSet.Kind, Name: "agent", UID: "uid-agent", Controller: true}}
		st.Relations = []object.Relation{{Type: object.Placed, To: change.NodeName(node)}}
	}
}

// agent is a DaemonSet on n Nodes.
func agent(n int32) func(*observation.State) {
	return func(st *observation.State) {
		ofKind("apps", "DaemonSet")(st)
		st.Workload = &observation.Workload{Replicas: n}
		st.Managers = []observation.Manager{{Name: "kubectl-create", Operation: "Update", Fields: 1}}
	}
}

// TestNodeJoins: the first Pod of a DaemonSet on a Node belongs to the change of the Node, unless the
// DaemonSet was changed after it.
func TestNodeJoins(t *testing.T) {
	runs := func(s *story, name string) {
		s.write(name, bind)
		s.write(name, ready)
	}
	joined := func(st *observation.State) { st.Progress = observation.ProgressCurrent }
	const inNode = "reconcile Node node-1 > reconcile Pod agent-a"
	cases := map[string]struct {
		reason string
		tell   func(*story)
		// want has the names of the spans from the root to that of the Pod, and the evidence.
		want string
	}{
		"joins": {"the Pod is wanted because of the Node", func(s *story) {
			s.write("node-1", aNode, managedBy("kubelet"), joining)
			s.write("agent-a", agentOn("node-1"))
			s.write("node-1", joined)
			runs(s, "agent-a")
		}, inNode + " (relation) ~owner"},
		"ready first": {"the DaemonSet controller may be slower than the kubelet", func(s *story) {
			s.write("node-1", aNode, managedBy("kubelet"), joining)
			s.write("node-1", joined)
			s.write("agent-a", agentOn("node-1"))
			runs(s, "agent-a")
		}, inNode + " (time) ~owner"},
		"much later": {"another reason is likely", func(s *story) {
			s.write("node-1", aNode, managedBy("kubelet"))
			s.wait(time.Minute)
			s.write("agent-a", agentOn("node-1"))
			runs(s, "agent-a")
		}, "reconcile Pod agent-a ~owner"},
		"labelled": {"a label makes the Node eligible", func(s *story) {
			s.write("node-1", aNode, managedBy("kubectl-label"))
			s.wait(time.Minute)
			s.write("node-1", set("metadata.labels[gpu]"))
			s.write("agent-a", agentOn("node-1"))
			runs(s, "agent-a")
		}, inNode + " (time) ~owner"},
		"annotated": {"an annotation does not", func(s *story) {
			s.write("node-1", aNode, managedBy("kubectl-annotate"))
			s.wait(time.Minute)
			s.write("node-1", set("metadata.annotations[note]"))
			s.write("agent-a", agentOn("node-1"))
			runs(s, "agent-a")
		}, "reconcile Pod agent-a ~owner"},
		"DaemonSet changed": {"the later change made the Pod wanted", func(s *story) {
			s.write("node-1", aNode, managedBy("kubelet"), joining)
			s.write("agent", scaled(1))
			s.write("agent-a", agentOn("node-1"))
			s.write("node-1", joined)
			runs(s, "agent-a")
			s.write("agent", arrived)
		}, "reconcile DaemonSet agent ~previous > reconcile Pod agent-a (owner)"},
		"lost on the way": {"the second Pod heals the loss of the first", func(s *story) {
			s.write("node-1", aNode, managedBy("kubelet"), joining)
			s.write("agent-b", agentOn("node-1"))
			s.write("agent-b", bind)
			s.gone("agent-b")
			s.write("agent-a", agentOn("node-1"))
			s.write("node-1", joined)
			runs(s, "agent-a")
		}, "reconcile Pod agent-a ~owner ~heals"},
		"another Node": {"a Pod belongs to its own Node", func(s *story) {
			s.write("node-1", aNode, managedBy("kubelet"), joining)
			s.write("agent-a", agentOn("node-2"))
			runs(s, "agent-a")
			s.write("node-1", joined)
		}, "reconcile Pod agent-a ~owner"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("agent", agent(0))
			s.write("agent", arrived)
			s.wait(time.Minute)
			tc.tell(s)
			s.wait(time.Minute)
			all := map[string]func() string{
				"at once": func() string { return pathTo(s.outline(t), "Pod agent-a") },
				"looks":   func() string { return pathTo(outline(looks(s)), "Pod agent-a") },
			}
			for how, got := range all {
				if diff := cmp.Diff(tc.want, got()); diff != "" {
					t.Errorf("%s: %s: (-want +got)\n%s", how, tc.reason, diff)
				}
			}
		})
	}
}

// pathTo returns the names of the spans in an outline from the root to that of the object. The last one
// has its evidence and links.
func pathTo(outline, object string) string {
	var path []string
	for line := range strings.Lines(outline) {
		text := strings.TrimSpace(line)
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		if depth == 0 {
			path = nil
			continue
		}
		path = append(path[:min(depth-1, len(path))], text)
		if strings.HasPrefix(text, "reconcile "+object) {
			for i, of := range path {
				path[i] = strings.NewReplacer(" converged", "", " superseded", "", " deleted", "").Replace(of)
			}
			return strings.Join(path, " > ")
		}
	}
	return ""
}
