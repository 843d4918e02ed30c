// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// aNode is the manifest of the Node of the Pods of a story.
func aNode(st *observation.State) {
	ofKind("", "Node")(st)
	st.Namespace, st.ObservedGeneration, st.Progress = "", -1, observation.ProgressCurrent
	st.Leaves = []observation.Leaf{{Path: "spec.podCIDR", Value: 1}}
}

// drop removes a field of an object.
func drop(path string) func(*observation.State) {
	return func(st *observation.State) {
		st.Leaves = slices.DeleteFunc(slices.Clone(st.Leaves), func(l observation.Leaf) bool { return l.Path == path })
		st.Desired++
	}
}

// disrupt deletes the Pod app for that reason.
func (s *story) disrupt(reason string) {
	s.write("app", deleting, func(st *observation.State) {
		st.Deleting = s.now().Add(30 * time.Second)
		st.Conditions = []observation.Condition{{Type: "DisruptionTarget", Status: "True", Reason: reason}}
	})
}

// nominated nominates a waiting Pod for the Node of the others.
func nominated(st *observation.State) {
	to := object.Name{Kind: "Node", Name: "node-1"}
	st.Relations = []object.Relation{{Type: object.Nominated, To: to}}
}

const (
	unschedulable = "spec.unschedulable"
	broken        = "spec.taints[key=broken,effect=NoExecute].key"
	slow          = "spec.taints[key=slow,effect=NoSchedule].key"
)

// TestEvictions: the deletion of a Pod for the sake of another object belongs to the change of that
// object, if nothing else may be the cause.
func TestEvictions(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		tell   func(s *story)
		// want is the object at the root of the trace of the deletion.
		want string
	}{
		"Drained": {"the Node is cordoned", func(s *story) {
			s.write("node-1", set(unschedulable))
			s.disrupt(change.Evicted)
		}, "Node node-1"},
		"Uncordoned": {"the cordon is over", func(s *story) {
			s.write("node-1", set(unschedulable))
			s.wait(10 * time.Second)
			s.write("node-1", drop(unschedulable))
			s.disrupt(change.Evicted)
		}, "Pod app"},
		"Evicted later": {"an unknown user may be another one", func(s *story) {
			s.write("node-1", set(unschedulable))
			s.wait(11 * time.Minute)
			s.disrupt(change.Evicted)
		}, "Pod app"},
		"Deleted": {"a plain deletion has nothing to do with the Node", func(s *story) {
			s.write("node-1", set(unschedulable))
			s.write("app", deleting)
		}, "Pod app"},
		"Tainted": {"the taint lets no Pod run", func(s *story) {
			s.write("node-1", set(broken))
			s.disrupt(change.Tainted)
		}, "Node node-1"},
		"Tainted long ago": {"a Pod may tolerate a taint for some time", func(s *story) {
			s.write("node-1", set(broken))
			s.wait(30 * time.Minute)
			s.disrupt(change.Tainted)
		}, "Node node-1"},
		"Another taint": {"this taint evicts no Pod", func(s *story) {
			s.write("node-1", set(slow))
			s.disrupt(change.Tainted)
		}, "Pod app"},
		"Untainted": {"the taint is gone: a taint of Kubernetes itself evicts", func(s *story) {
			s.write("node-1", set(broken))
			s.wait(10 * time.Second)
			s.write("node-1", drop(broken))
			s.wait(10 * time.Second)
			s.disrupt(change.Tainted)
		}, "Pod app"},
		"Preempted": {"a Pod waits for the Node", func(s *story) {
			s.write("vip", pod(""))
			s.disrupt(change.Preempted)
			s.write("vip", nominated)
		}, "Pod vip"},
		"Two wait": {"it may be either", func(s *story) {
			s.write("vip", pod(""))
			s.write("other", pod(""))
			s.disrupt(change.Preempted)
			s.write("vip", nominated)
			s.write("other", nominated)
		}, "Pod app"},
		"Two wait, Event": {"the Event of the scheduler names one", func(s *story) {
			s.write("vip", pod(""))
			s.write("other", pod(""))
			s.disrupt(change.Preempted)
			s.report("app", "vip", reportedBy("default-scheduler", change.Scheduler))
			s.write("vip", nominated)
			s.write("other", nominated)
		}, "Pod vip"},
		"Nobody waits": {"the reason is not known", func(s *story) {
			s.disrupt(change.Preempted)
		}, "Pod app"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("node-1", aNode)
			s.write("app", pod(""))
			s.write("app", bind)
			s.write("app", ready)
			s.wait(time.Minute)
			tc.tell(s)
			s.gone("app")
			end := s.now().Add(time.Minute)
			for _, looks := range []bool{false, true} {
				e := New(Options{Cluster: "test"})
				var told []*span.Trace
				at := s.seen[0].Seen
				for _, o := range s.seen {
					for ; looks && at.Before(o.Seen); at = at.Add(time.Second) {
						told = append(append(told, e.Take(at)...), e.Amendments()...)
					}
					e.Observe(o)
				}
				told = append(append(append(told, e.Take(end)...), e.Amendments()...), e.Traces(end)...)
				if got := rootsOf(told, "app"); !slices.Equal(got, []string{tc.want}) {
					t.Errorf(
						"looks %t: %s: the deletion is in the traces of %q, want %q",
						looks,
						tc.reason,
						got,
						tc.want,
					)
				}
			}
		})
	}
}

// rootsOf returns the objects at the roots of the traces with the deletion of the Pod. The spans of late
// work come after their trace.
func rootsOf(told []*span.Trace, pod string) []string {
	var out []string
	roots := map[trace.TraceID]string{}
	for _, tr := range told {
		if root := tr.Root(); roots[tr.ID] == "" && root != nil {
			roots[tr.ID] = root.Object.Kind.Kind + " " + root.Object.Name
		}
		for _, s := range tr.Spans {
			if s.Object.Name == pod && s.Name == "reconcile Pod" && s.Outcome == span.Deleted {
				out = append(out, roots[tr.ID])
			}
		}
	}
	return out
}
