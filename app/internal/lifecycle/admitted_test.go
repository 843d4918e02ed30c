// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// admitted returns an edit: the object gets a context at admission, in the trace id and below the
// span parent (0 means none). basis is the evidence at admission.
func admitted(id string, parent int, basis lifeline.Basis) func(*observation.State) {
	return func(st *observation.State) {
		claim := lifeline.Claim{
			Object: lifeline.Identity{
				Group:     st.Group,
				Kind:      st.Kind.Kind,
				Namespace: st.Namespace,
				Name:      st.Name,
			}.Hash(),
			Generation: st.Generation,
			Time:       epoch,
			Admitted:   basis,
			Nonce:      st.ResourceVersion,
		}
		if parent != 0 {
			claim.Parent = spanContext(id, parent, nil).SpanID()
		}
		put(st, lifeline.Admit(spanContext(id, 1, nil), claim))
	}
}

func put(st *observation.State, sc trace.SpanContext) {
	st.TraceParent = fmt.Sprintf("00-%s-%s-01", sc.TraceID(), sc.SpanID())
	st.TraceState, st.TraceConvention = sc.TraceState().String(), "default"
}

// copied carries the context of another object, as a Deployment's ReplicaSet does.
func (s *story) copied(name string) func(*observation.State) {
	return func(st *observation.State) {
		from := s.objects[name]
		st.TraceParent, st.TraceState, st.TraceConvention = from.TraceParent, from.TraceState, from.TraceConvention
	}
}

// admittedStories are of contexts that objects were given at admission (P1, P3).
func admittedStories() map[string]contextStory {
	return map[string]contextStory{
		"admitted": {
			"nothing was known at admission: a trace begins, which the ReplicaSet's copy and the owner's " +
				"context continue",
			func(s *story) {
				s.write("web", deployment(1), admitted(traceA, 0, lifeline.BasisNone))
				s.write("web-1", replicaSet("web", 1), s.copied("web"))
				s.write("web-1-x", pod("web-1"), admitted(traceA, 5, lifeline.BasisOwner))
				s.finish("web-1", "web")
			},
			`
trace 0 unfinished: Pod web-1-x waits for scheduler default-scheduler, which does not react: no ` +
				`scheduler of that name seems to run
  reconcile Deployment web converged
    reconcile ReplicaSet web-1 converged (annotation)
      reconcile Pod web-1-x (owner)
        schedule web-1-x
`,
		},
		"admitted by request": {
			"the request came with a context: it is the outside parent (L5), known by the request",
			func(s *story) {
				s.write("head", custom("Head"), admitted(traceA, 7, lifeline.BasisRequest))
				s.write("second", custom("Head"), admitted(traceA, 7, lifeline.BasisRequest))
				s.finish("head", "second")
			},
			`
trace 0 converged
  reconcile Head head converged (request)
  reconcile Head second converged (request)
`,
		},
		"admitted in a run": {
			"the run's own trace comes back at admission: one tree, as without",
			func(s *story) {
				s.run(runID, "kubectl create")
				s.write("head", custom("Head"), admitted(runID, 255, lifeline.BasisRequest))
				s.requested(runID, "create", 201)
				s.write("child", childOf("Head", "head", "Child"), admitted(runID, 1, lifeline.BasisOwner))
				s.finish("child", "head")
				s.ran(runID, "kubectl create")
			},
			`
trace 0 converged
  run converged
    reconcile Head head converged (request)
      create Head head (request)
      reconcile Child child converged (owner)
`,
		},
		"admitted anew": {
			"a new desired state is given a new context: the old trace is linked (L1)",
			func(s *story) {
				s.write("web", deployment(1), admitted(traceA, 0, lifeline.BasisNone))
				s.write("web", changed, admitted(traceB, 0, lifeline.BasisNone))
				s.finish("web")
			},
			`
trace 0 superseded
  reconcile Deployment web superseded
trace 1 converged
  reconcile Deployment web converged ~previous
`,
		},
		"admitted by its own controller": {
			"admission cannot know an object's own controller; what that completes replaces nothing",
			func(s *story) {
				s.write("head", custom("Head"), admitted(traceA, 0, lifeline.BasisNone))
				s.write("head", func(st *observation.State) {
					st.Managers = append(st.Managers, observation.Manager{
						Name:        "head-controller",
						Operation:   "Update",
						Subresource: "status",
						Fields:      2,
					})
				})
				s.write("head", changed, func(st *observation.State) {
					st.Managers = append(
						st.Managers,
						observation.Manager{Name: "head-controller", Operation: "Update", Fields: 3},
					)
				}, admitted(traceB, 0, lifeline.BasisNone))
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged ~annotation
`,
		},
		"admitted and healed": {
			"the owner was held to be open, and had converged: healing is a separate trace (C3)",
			func(s *story) {
				s.write("set", custom("Set"), admitted(traceA, 0, lifeline.BasisNone))
				s.write("one", childOf("Set", "set", "Part"), admitted(traceA, 5, lifeline.BasisOwner))
				s.finish("one", "set")
				s.wait(time.Minute)
				s.gone("one")
				s.write("two", childOf("Set", "set", "Part"), admitted(traceA, 5, lifeline.BasisOwner))
				s.finish("two")
			},
			`
trace 0 converged
  reconcile Set set converged
    reconcile Part one converged (owner)
trace 1 deleted
  reconcile Part one deleted ~previous
trace 2 converged
  reconcile Part two converged ~owner ~heals ~stale
`,
		},
		"asked": {
			"a scale can carry no context: the audit log has that of its request (C2)",
			func(s *story) {
				s.write("web", deployment(1))
				s.finish("web")
				s.wait(time.Minute)
				s.write("web", scaled(2))
				s.audited("web", "update", came(traceA, 7))
				s.finish("web")
			},
			`
trace 0 converged
  reconcile Deployment web converged
trace 1 converged
  reconcile Deployment web converged (request) ~previous
    update Deployment web (request)
`,
		},
		"asked to delete": {
			"nor can what goes",
			func(s *story) {
				s.write("head", custom("Head"))
				s.finish("head")
				s.wait(time.Minute)
				s.write("head", deleting)
				s.audited("head", "delete", came(traceA, 7))
				s.gone("head")
			},
			`
trace 0 converged
  reconcile Head head converged
trace 1 deleted
  reconcile Head head deleted (request) ~previous
    delete Head head (request)
`,
		},
		"asked for another's trace": {
			"a context of a trace that has nothing to do with the object joins nothing, however it came (P4)",
			func(s *story) {
				s.write("head", custom("Head"), admitted(traceA, 0, lifeline.BasisNone))
				s.write("web", deployment(1))
				s.audited("web", "create", came(traceA, 7))
				s.finish("web", "head")
			},
			`
trace 0 converged
  reconcile Head head converged
trace 1 converged
  reconcile Deployment web converged ~unverified
    create Deployment web (request)
`,
		},
		"asked by a controller": {
			"the evidence about the owner comes before the context of a request",
			func(s *story) {
				s.write("head", custom("Head"))
				s.write("child", childOf("Head", "head", "Child"))
				s.audited("child", "create", came(traceA, 7), func(w *observation.Write) {
					w.User, w.UserAgent = "system:serviceaccount:default:head", "head-controller/v1"
				})
				s.finish("child", "head")
			},
			`
trace 0 converged
  reconcile Head head converged
    reconcile Child child converged (owner)
      create Child child (request)
`,
		},
		"owned from another namespace": {
			"an owner is in the same namespace: who names another's UID joins nothing",
			func(s *story) {
				elsewhere := func(st *observation.State) { st.Namespace = "elsewhere" }
				s.write("head", custom("Head"))
				s.write("child", childOf("Head", "head", "Child"), elsewhere)
				s.write(
					"admitted",
					childOf("Head", "head", "Child"),
					elsewhere,
					admitted(traceA, 1, lifeline.BasisOwner),
				)
				s.finish("child", "admitted", "head")
			},
			`
trace 0 converged
  reconcile Head head converged
trace 1 converged
  reconcile Child child converged
trace 2 converged
  reconcile Child admitted converged ~unverified
`,
		},
		"admitted, forged": {
			"a context of another object's open trace joins nothing, with any claim (P4)",
			func(s *story) {
				s.write("head", custom("Head"), admitted(traceA, 0, lifeline.BasisNone))
				s.write("forged", custom("Head"), admitted(traceA, 1, lifeline.BasisRequest))
				s.write("owned", custom("Head"), admitted(traceA, 1, lifeline.BasisOwner))
				s.finish("forged", "owned", "head")
			},
			`
trace 0 converged
  reconcile Head head converged
trace 1 converged
  reconcile Head forged converged ~unverified
trace 2 converged
  reconcile Head owned converged ~unverified
`,
		},
		"admitted below what was refused": {
			"the owner's change was admitted and then not stored: its trace has no span",
			func(s *story) {
				s.write("set", custom("Set"), admitted(traceA, 0, lifeline.BasisNone))
				s.write("one", childOf("Set", "set", "Part"), admitted(traceA, 5, lifeline.BasisOwner))
				s.finish("one", "set")
				s.wait(time.Minute)
				s.write("two", childOf("Set", "set", "Part"), admitted(traceB, 5, lifeline.BasisOwner))
				s.finish("two")
			},
			`
trace 0 converged
  reconcile Set set converged
    reconcile Part one converged (owner)
trace 1 converged
  reconcile Part two converged ~owner ~unverified
`,
		},
		"admitted, copied by hand": {
			"a manifest saved from another object was not admitted as this one: its own trace (P4)",
			func(s *story) {
				s.write("head", custom("Head"), admitted(traceA, 0, lifeline.BasisNone))
				s.write("copy", custom("Head"), s.copied("head"))
				s.finish("copy", "head")
			},
			`
trace 0 converged
  reconcile Head head converged
trace 1 converged
  reconcile Head copy converged ~stale
`,
		},
	}
}

// came sets the context of the request.
func came(id string, n int) func(*observation.Write) {
	return func(w *observation.Write) { w.TraceParent = fmt.Sprintf("00-%s-%016x-01", id, n) }
}

// TestScheduledWasNoted: the time that admission notes on a Pod is when it was
// bound, where that is possible.
func TestScheduledWasNoted(t *testing.T) {
	for name, c := range map[string]struct {
		reason      string
		made, bound time.Duration // after the Pod was created; 0 is not noted
		want        span.TimeSource
	}{
		"noted":              {reason: "exact", bound: 70 * time.Millisecond, want: span.TimeAdmission},
		"not noted":          {reason: "the watch gives the time", want: span.TimeWatch},
		"in the future":      {reason: "a future time is not used", bound: time.Hour, want: span.TimeWatch},
		"before it was made": {reason: "it was not there", bound: -time.Minute, want: span.TimeWatch},
		"by who created it": {
			reason: "it was there before it was bound",
			made:   70 * time.Millisecond,
			bound:  70 * time.Millisecond,
			want:   span.TimeWatch,
		},
		"by who did, another": {
			reason: "a forged one is not replaced by one that counts",
			made:   time.Millisecond,
			bound:  70 * time.Millisecond,
			want:   span.TimeWatch,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			note := func(at time.Duration) func(*observation.State) {
				when := s.now().Add(100*time.Millisecond + at)
				return func(st *observation.State) {
					if at != 0 {
						st.Pod.Scheduled = when
					}
				}
			}
			made, bound := note(c.made), note(c.bound)
			s.write("p", pod(""), made)
			s.write("p", bind, bound)
			for _, tr := range observe(s.seen).Traces(s.now()) {
				for _, sp := range tr.Spans {
					if sp.Name != "schedule" {
						continue
					}
					if sp.End.Source != c.want ||
						c.want == span.TimeAdmission && !sp.End.Equal(s.seen[0].Seen.Add(c.bound)) {
						t.Errorf("%s: it ends at %s by %s, want by %s", c.reason, sp.End.Time, sp.End.Source, c.want)
					}
					return
				}
			}
			t.Error("it was never scheduled")
		})
	}
}

// TestAdmittedSpans: the context from admission identifies the span of the object's reconciliation,
// with and without an observed run.
func TestAdmittedSpans(t *testing.T) {
	s := newStory()
	s.run(runID, "kubectl create")
	head := s.write("head", custom("Head"), admitted(runID, 255, lifeline.BasisRequest))
	s.requested(runID, "create", 201)
	child := s.write("child", childOf("Head", "head", "Child"), admitted(runID, 9, lifeline.BasisOwner))
	of := func(seen []*observation.Observation, uid types.UID) (found *span.Span) {
		for _, tr := range observe(seen).Traces(s.now().Add(time.Minute)) {
			for _, sp := range tr.Spans {
				if sp.Object.UID == uid && strings.HasPrefix(sp.Name, "reconcile ") {
					found = sp
				}
			}
		}
		return found
	}
	for what, seen := range map[string][]*observation.Observation{"the run": s.seen, "the watch alone": s.seen[1:]} {
		for _, st := range []*observation.State{head, child} {
			got := of(seen, st.UID)
			if want := change.ParseContext(st.TraceParent, ""); got.ID != want.SpanID() ||
				got.TraceID != want.TraceID() {
				t.Errorf("%s: %s is span %s, its context %s", what, st.Name, got.ID, want.SpanID())
			}
		}
		root, below := of(seen, head.UID), of(seen, child.UID)
		if root.Parent != spanContext(runID, 255, nil).SpanID() || below.Parent != root.ID || below.RemoteParent {
			t.Errorf("%s: below %s and %s", what, root.Parent, below.Parent)
		}
	}
}

func TestOpen(t *testing.T) {
	s := newStory()
	s.write("web", deployment(1), admitted(traceA, 0, lifeline.BasisNone))
	s.write("web-1", replicaSet("web", 1), s.copied("web"))
	e := observe(s.seen)
	open := func() map[types.UID]string {
		all := map[types.UID]string{}
		for ref, sc := range e.Open(s.now()) {
			all[ref.UID] = sc.TraceID().String()
		}
		return all
	}
	if diff := cmp.Diff(map[types.UID]string{"uid-web": traceA, "uid-web-1": traceA}, open()); diff != "" {
		t.Errorf("under way: -want +got:\n%s", diff)
	}
	for range e.Open(s.now()) {
		break // a caller may stop early
	}
	s.finish("web-1", "web")
	e = observe(s.seen)
	s.wait(time.Minute)
	if diff := cmp.Diff(map[types.UID]string{}, open()); diff != "" {
		t.Errorf("converged: -want +got:\n%s", diff)
	}
}

// TestAskedLate: an audit event that arrives after the handing out of its trace begins no other
// trace.
func TestAskedLate(t *testing.T) {
	for name, busy := range map[string]bool{"alone": false, "needed by an open trace": true} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("web", deployment(1))
			s.finish("web")
			s.wait(time.Minute)
			s.write("web", scaled(2))
			s.audited("web", "update", came(traceA, 7))
			late := s.seen[len(s.seen)-1]
			s.seen = s.seen[:len(s.seen)-1]
			s.finish("web")
			s.wait(time.Minute)
			if busy {
				s.write("web-1", replicaSet("web", 1), func(st *observation.State) { st.Owners[0].UID = "uid-web" })
				s.write("web-1", scaled(3), by("kubectl"))
			}
			e := observe(s.seen)
			told := len(e.Take(s.now()))
			if told != 2 {
				t.Fatalf("%d traces were handed out, want 2", told)
			}
			e.Observe(late)
			s.wait(time.Minute)
			for _, tr := range e.Traces(s.now()) {
				if tr.ID.String() == traceA {
					t.Errorf("the same write is handed out again:\n%s", outline([]*span.Trace{tr}))
				}
			}
		})
	}
}
