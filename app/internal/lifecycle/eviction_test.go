// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
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
func (s *story) disrupt(reason string) { s.disrupted("app", reason) }

// disrupted deletes a Pod for that reason.
func (s *story) disrupted(pod, reason string) {
	s.write(pod, deleting, func(st *observation.State) {
		st.Deleting = s.now().Add(30 * time.Second)
		st.Conditions = []observation.Condition{{Type: "DisruptionTarget", Status: "True", Reason: reason}}
	})
}

// ended removes a Pod, as its kubelet does.
func (s *story) ended(pod string) {
	s.gone(pod)
	s.audited(pod, "delete", person("system:node:node-1"), func(w *observation.Write) {
		w.UserAgent, w.Manager, w.ResourceVersion = "kubelet/v1.36.3", kind.Kubelet, 0
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

// TestDrain: a drain is one change of its user, also if a budget refuses an eviction at first. The replacement
// of each Pod heals.
func TestDrain(t *testing.T) {
	s := newStory()
	s.onNode("a", "b", "c")
	replace := func(name string) {
		s.ended(name)
		s.write(name+"2", pod("web-1"), bind)
		s.write(name+"2", ready)
	}
	s.write("node-1", set(unschedulable))
	s.audited("node-1", "patch", person("user-a"))
	s.evict("a", 201)
	s.evict("b", 201)
	s.evict("c", 429)
	replace("a")
	replace("b")
	s.wait(5 * time.Second)
	s.evict("c", 201)
	replace("c")

	const drain = `trace 0 converged
  reconcile Node node-1 converged
    update Node node-1 (request)
    reconcile Pod a deleted (relation)
      delete Pod a (request)
      delete Pod a (request)
    delete Pod c refused (request)
    reconcile Pod b deleted (relation)
      delete Pod b (request)
      delete Pod b (request)
    reconcile Pod c deleted (relation)
      delete Pod c (request)
      delete Pod c (request)
`
	check := func(how string, traces []*span.Trace) {
		t.Helper()
		var got, refusals, authors []string
		for i, author := range authorsOf(traces) {
			if traces[i].Root().Object.Name != "node-1" {
				continue
			}
			authors = append(authors, author)
			got = append(got, plain(traces[i:i+1]))
			for _, sp := range traces[i].Spans {
				if sp.Status == span.StatusError {
					refusals = append(refusals, sp.Message)
				}
			}
		}
		if diff := cmp.Diff([]string{drain}, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", how, diff)
		}
		if diff := cmp.Diff([]string{"Node node-1: kubectl user-a"}, authors); diff != "" {
			t.Errorf("%s: authors: -want +got:\n%s", how, diff)
		}
		if diff := cmp.Diff([]string{"TooManyRequests: " + budget}, refusals); diff != "" {
			t.Errorf("%s: refusals: -want +got:\n%s", how, diff)
		}
		links := linksOf(traces)
		for i := range links {
			links[i] = regexp.MustCompile(` of \d+`).ReplaceAllString(links[i], "")
		}
		want := []string{"Pod a2: heals Pod a", "Pod b2: heals Pod b", "Pod c2: heals Pod c"}
		if diff := cmp.Diff(want, links); diff != "" || len(traces) != 4 {
			t.Errorf("%s: %d traces, want 4; links: -want +got:\n%s", how, len(traces), diff)
		}
	}
	check("at the end", observe(s.seen).Traces(s.now().Add(time.Minute)))
	check("with a look every second", looks(s))
	inAnyOrder(t, s, outline)
}

// budget is the message about a refused eviction.
const budget = "Cannot evict pod as it would violate the pod's disruption budget. " +
	"The disruption budget web needs 2 healthy pods and has 2 currently"

// onNode begins a story with Pods on node-1, which were there before.
func (s *story) onNode(pods ...string) {
	s.write("node-1", aNode)
	for _, name := range pods {
		s.write(name, pod("web-1"))
		s.write(name, bind)
		s.write(name, ready)
	}
	s.wait(time.Minute)
	s.before()
}

// evict is an eviction of the Pod by user-a. The code of the answer is 201, or 429 if a budget refuses it.
func (s *story) evict(name string, code int) {
	if code == 201 {
		s.disrupted(name, change.Evicted)
	}
	s.audited(name, "delete", person("user-a"), func(w *observation.Write) {
		w.Subresource, w.Code, w.ResourceVersion, w.Manager = "eviction", code, 0, ""
		w.AuditID += "-" + name
		if code == 429 {
			w.Reason, w.Message = "TooManyRequests", budget
		}
	})
}

// TestLongDrain: a drain is handed out after its last eviction, also if a budget refuses it for a minute.
func TestLongDrain(t *testing.T) {
	s := newStory()
	s.onNode("app")
	s.write("node-1", set(unschedulable))
	s.audited("node-1", "patch", person("user-a"))
	s.wait(100 * time.Millisecond)
	for range 12 {
		s.evict("app", 429)
		s.wait(5 * time.Second)
	}
	last := s.now()
	s.evict("app", 201)
	s.ended("app")
	e, at := New(Options{Cluster: "test"}), epoch
	look := func(end time.Time) {
		for ; at.Before(end); at = at.Add(time.Second) {
			for _, tr := range e.Take(at) {
				if at.Before(last) {
					t.Errorf("handed out %s before the last eviction:\n%s", last.Sub(at), outline([]*span.Trace{tr}))
				}
			}
		}
	}
	for _, o := range s.seen {
		look(o.Seen)
		e.Observe(o)
	}
	look(s.now().Add(time.Minute))
}

// TestDrainLag: a refused eviction belongs to its drain, also if the watch of Nodes is delayed.
func TestDrainLag(t *testing.T) {
	for _, lag := range []time.Duration{0, 50 * time.Millisecond, 150 * time.Millisecond, 2 * time.Second} {
		s := newStory()
		s.onNode("app")
		s.write("node-1", set(unschedulable))
		s.seen[len(s.seen)-1].Seen = s.now().Add(lag)
		s.audited("node-1", "patch", person("user-a"))
		s.wait(100 * time.Millisecond)
		s.evict("app", 429)
		s.wait(5 * time.Second)
		s.evict("app", 201)
		s.ended("app")
		slices.SortStableFunc(s.seen, func(a, b *observation.Observation) int { return a.Seen.Compare(b.Seen) })
		traces := observe(s.seen).Traces(s.now().Add(time.Minute))
		if len(traces) != 1 || !strings.Contains(plain(traces), "    delete Pod app refused (request)") {
			t.Errorf("lag %s: want the refused eviction in the one trace of the drain, got:\n%s", lag, plain(traces))
		}
	}
}
