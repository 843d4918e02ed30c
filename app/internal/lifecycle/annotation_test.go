// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Traces that contexts in the stories are of.
const (
	traceA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	traceB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	traceC = "cccccccccccccccccccccccccccccccc"
)

// spanContext is the span n of the trace, with a claim if one is given.
func spanContext(id string, n int, claim *lifeline.Claim) trace.SpanContext {
	sc := parseContext(fmt.Sprintf("00-%s-%016x-01", id, n), "")
	if claim != nil {
		sc = lifeline.Claimed(sc, *claim)
	}
	return sc
}

// carrying puts a context on the object.
func carrying(id string, n int, claim *lifeline.Claim) func(*observation.State) {
	return func(st *observation.State) {
		sc := spanContext(id, n, claim)
		st.TraceParent = fmt.Sprintf("00-%s-%016x-01", id, n)
		st.TraceState = sc.TraceState().String()
		st.TraceConvention = "default"
	}
}

// linkedTo is the claim of a context whose trace links to another.
func linkedTo(id string, n int) *lifeline.Claim {
	up := spanContext(id, n, nil)
	return &lifeline.Claim{ParentTrace: up.TraceID(), Parent: up.SpanID()}
}

// madeFor is the claim that a context was made for that object.
func madeFor(kind, name string) *lifeline.Claim {
	return &lifeline.Claim{Object: lifeline.Identity{Group: "example.com", Kind: kind, Namespace: "default", Name: name}.Hash()}
}

// custom is an object of a kind that an operator reconciles and that says when
// it has converged.
func custom(k string) func(*observation.State) {
	return func(st *observation.State) {
		kind("example.com", k)(st)
		st.Progress = observation.ProgressInProgress
		st.Managers = []observation.Manager{{Name: "kubectl-create", Operation: "Update", Fields: 1}}
	}
}

// childOf is one that the controller of its owner made.
func childOf(ownerKind, owner, k string) func(*observation.State) {
	return func(st *observation.State) {
		custom(k)(st)
		st.Managers = []observation.Manager{{Name: strings.ToLower(ownerKind) + "-controller", Operation: "Update", Fields: 1}}
		st.Owners = []object.Owner{{
			Kind: object.Kind{Group: "example.com", Version: "v1", Kind: ownerKind}, Name: owner, UID: types.UID("uid-" + owner), Controller: true,
		}}
	}
}

func by(fieldManager string) func(*observation.State) {
	return func(st *observation.State) {
		st.Managers = []observation.Manager{{Name: fieldManager, Operation: "Update", Fields: st.ResourceVersion}}
	}
}

func changed(st *observation.State) {
	st.Generation++
	st.Desired++
}

// wait lets time pass.
func (s *story) wait(d time.Duration) { s.rv += uint64(d / (100 * time.Millisecond)) }

// finish lets the head and its child arrive.
func (s *story) finish(names ...string) {
	for _, name := range names {
		s.write(name, arrived)
	}
}

func TestContexts(t *testing.T) {
	hourAgo := func(d time.Duration) *lifeline.Claim { return &lifeline.Claim{Time: epoch.Add(-d)} }
	tests := map[string]struct {
		reason string
		tell   func(*story)
		want   string
	}{
		"operator": {
			"what an operator writes with the context of its owner's trace is below the owner (C1, P2)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, madeFor("Child", "child")))
				s.write("grandchild", childOf("Child", "child", "Part"), carrying(traceA, 3, nil))
				s.finish("grandchild", "child", "head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation)
      reconcile Part grandchild converged (annotation)
`,
		},
		"without inbound context": {
			"an operator starts a trace of its own because nothing stood on the owner: one tree, and its trace is linked",
			func(s *story) {
				s.write("head", custom("Head"))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceB, 2, nil))
				s.write("sibling", childOf("Head", "head", "Child"), carrying(traceB, 3, nil))
				s.write("grandchild", childOf("Child", "child", "Part"), carrying(traceB, 4, nil))
				s.finish("grandchild", "child", "sibling", "head")
			},
			`
trace 0 converged
  reconcile Head head converged
    reconcile Child child converged (owner) ~annotation
      reconcile Part grandchild converged (annotation) ~annotation
    reconcile Child sibling converged (owner) ~annotation
`,
		},
		"link mode": {
			"each reconcile is a root that links to the context on its object: the claim leads to the owner, one tree",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceB, 2, linkedTo(traceA, 1)))
				s.write("grandchild", childOf("Child", "child", "Part"), carrying(traceC, 3, linkedTo(traceB, 2)))
				s.finish("grandchild", "child", "head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation) ~annotation
      reconcile Part grandchild converged (annotation) ~annotation
`,
		},
		"link mode in a run": {
			"the same below a command's write: its trace comes first, and the context on the object leads there",
			func(s *story) {
				s.run(runID, "kubectl create")
				s.write("head", custom("Head"), carrying(runID, 1, nil))
				s.requested(runID, "create", 201)
				s.write("child", childOf("Head", "head", "Child"), carrying(traceB, 2, linkedTo(runID, 1)))
				s.finish("child", "head")
				s.ran(runID, "kubectl create")
			},
			`
trace 0 converged
  run converged
    reconcile Head head converged (request)
      create Head head (request)
      reconcile Child child converged (annotation) ~annotation
`,
		},
		"long": {
			"a reconciliation that takes longer than an hour is still its context's (P2 before P4)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, hourAgo(0)))
				s.wait(2 * time.Hour)
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, hourAgo(0)))
				s.finish("child", "head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation)
`,
		},
		"copied onto a child": {
			"what is copied from the owner names the owner, which is no clone (P2)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, madeFor("Head", "head")))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 1, madeFor("Head", "head")))
				s.finish("child", "head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation)
`,
		},
		"cloned": {
			"a manifest saved from another object and created anew starts its own trace (P4)",
			func(s *story) {
				s.write("copy", custom("Head"), carrying(traceA, 1, madeFor("Head", "head")))
				s.finish("copy")
			},
			`
trace 0 converged
  reconcile Head copy converged ~stale
`,
		},
		"generated name": {
			"a context made before the object had a name knows it by its generateName",
			func(s *story) {
				s.write("head-x7k2p", custom("Head"), carrying(traceA, 1, madeFor("Head", "head-")), func(st *observation.State) { st.GenerateName = "head-" })
				s.finish("head-x7k2p")
			},
			`
trace 0 converged
  reconcile Head head-x7k2p converged (annotation)
`,
		},
		"old": {
			"a context that says of a change more than an hour ago is stale (P4)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, hourAgo(61*time.Minute)))
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged ~stale
`,
		},
		"not so old": {
			"within the hour it is an outside parent (L5)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, hourAgo(59*time.Minute)))
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
`,
		},
		"claim of another span": {
			"a claim whose span is not the context's does not hold: what it says is ignored (P3a)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, hourAgo(2*time.Hour)), func(st *observation.State) {
					st.TraceParent = fmt.Sprintf("00-%s-%016x-01", traceA, 2)
				})
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
`,
		},
		"claim without span": {
			"nor does one that names no span",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil), func(st *observation.State) {
					st.TraceState = fmt.Sprintf("lifeline=t:%d", epoch.Unix()-7200)
				})
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
`,
		},
		"forged": {
			"naming an open trace that has nothing to do with the object joins nothing (P4)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("forged", custom("Head"), by("mallory"), carrying(traceA, 2, nil))
				s.finish("forged", "head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
trace 1 converged
  reconcile Head forged converged ~unverified
`,
		},
		"forged onto a derived trace": {
			"nor does naming a trace that nobody outside knows of, whoever wrote",
			func(s *story) {
				s.run(runID, "kubectl create")
				s.write("head", custom("Head"))
				s.requested(runID, "create", 201)
				s.write("forged", custom("Head"), carrying(runID, 2, nil))
				s.finish("forged", "head")
				s.ran(runID, "kubectl create")
			},
			`
trace 0 converged
  run converged
    reconcile Head head converged (request)
      create Head head (request)
trace 1 converged
  reconcile Head forged converged ~unverified
`,
		},
		"over": {
			"naming a trace that has been quiet since it ended starts nothing (P4)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.finish("head")
				s.wait(time.Minute)
				s.write("late", custom("Head"), carrying(traceA, 2, nil))
				s.finish("late")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
trace 1 converged
  reconcile Head late converged ~stale
`,
		},
		"pipeline": {
			"one component that writes objects with spans of one outside trace is one trace, each below its span (L5)",
			func(s *story) {
				s.write("a", custom("Head"), carrying(traceA, 1, nil))
				s.write("b", custom("Head"), carrying(traceA, 2, nil))
				s.finish("a", "b")
			},
			`
trace 0 converged
  reconcile Head a converged (annotation)
  reconcile Head b converged (annotation)
`,
		},
		"again": {
			"an object that is in the trace already may be written again for it, by whom ever (P2)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("head", changed, by("defaulter"), carrying(traceA, 2, nil))
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
`,
		},
		"there before": {
			"a context that was there before the write is no cause (C1)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.finish("head")
				s.wait(time.Minute)
				s.write("head", changed, by("kubectl-edit"))
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
trace 1 converged
  reconcile Head head converged ~previous
`,
		},
		"other state": {
			"a context made for an older generation is not for this desired state (L1)",
			func(s *story) {
				claim := madeFor("Head", "head")
				claim.Generation = 1
				s.write("head", custom("Head"))
				s.write("head", changed, carrying(traceA, 1, claim))
				s.finish("head")
			},
			`
trace 0 superseded
  reconcile Head head superseded
trace 1 converged
  reconcile Head head converged ~superseded ~previous
`,
		},
		"restored": {
			"a context made for a later generation was saved, and the object made anew (P4)",
			func(s *story) {
				claim := madeFor("Head", "head")
				claim.Generation = 7
				s.write("head", custom("Head"), carrying(traceA, 1, claim))
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged ~stale
`,
		},
		"this state": {
			"one made for this generation is its parent",
			func(s *story) {
				claim := madeFor("Head", "head")
				claim.Generation = 1
				s.write("head", custom("Head"), carrying(traceA, 1, claim))
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
`,
		},
		"merged": {
			"a controller that still acts on the replaced state works for the newest, and that is linked (L2)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("head", changed, carrying(traceB, 2, nil))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 3, nil))
				s.finish("child", "head")
			},
			`
trace 0 superseded
  reconcile Head head superseded (annotation)
trace 1 converged
  reconcile Head head converged (annotation) ~previous
    reconcile Child child converged (owner) ~superseded
`,
		},
		"healing": {
			"an operator that heals starts a trace of its own: it is the trace, and says what it heals (C3, L5)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, nil))
				s.write("other", childOf("Head", "head", "Child"), carrying(traceA, 3, nil))
				s.finish("child", "other", "head")
				s.wait(time.Minute)
				s.gone("child")
				s.gone("other")
				s.write("child2", childOf("Head", "head", "Child"), carrying(traceB, 4, linkedTo(traceA, 1)))
				s.write("other2", childOf("Head", "head", "Child"), carrying(traceB, 5, linkedTo(traceA, 1)))
				s.finish("child2", "other2")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation)
    reconcile Child other converged (annotation)
trace 1 deleted
  reconcile Child child deleted ~previous
trace 2 deleted
  reconcile Child other deleted ~previous
trace 3 converged
  reconcile Child child2 converged (annotation) ~owner ~heals
  reconcile Child other2 converged (annotation) ~owner ~heals
`,
		},
		"healing with the old context": {
			"an operator that heals with what stands on the owner names a trace that is over: the healing has its own (C3, P4)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, nil))
				s.finish("child", "head")
				s.wait(time.Minute)
				s.gone("child")
				s.write("child2", childOf("Head", "head", "Child"), carrying(traceA, 3, nil))
				s.finish("child2")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation)
trace 1 deleted
  reconcile Child child deleted ~previous
trace 2 converged
  reconcile Child child2 converged ~owner ~heals ~stale
`,
		},
		"healing at once": {
			"the same right after the owner has converged: what replaces something lost is healing",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, nil))
				s.finish("child", "head")
				s.gone("child")
				s.write("child2", childOf("Head", "head", "Child"), carrying(traceA, 3, nil))
				s.finish("child2")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation)
trace 1 deleted
  reconcile Child child deleted ~previous
trace 2 converged
  reconcile Child child2 converged ~owner ~heals ~stale
`,
		},
		"healing before memory": {
			"the owner had converged before the observer began: its context is of a trace that is over",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.finish("head")
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, nil), arrived)
				s.before()
				s.gone("child")
				s.write("child2", childOf("Head", "head", "Child"), carrying(traceA, 3, nil))
				s.finish("child2")
			},
			`
trace 0 deleted
  reconcile Child child deleted
trace 1 converged
  reconcile Child child2 converged ~heals ~stale
`,
		},
		"afterwards": {
			"an owner that says too soon that it has converged: what its controller writes next for that trace belongs to it",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil), arrived)
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, nil))
				s.finish("child")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation)
`,
		},
		"child edited": {
			"a child that somebody else changes with a context of their own is that trace's (L5)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, nil))
				s.write("child", changed, by("kubectl-edit"), carrying(traceB, 3, nil))
				s.finish("child", "head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child superseded (annotation)
trace 1 converged
  reconcile Child child converged (annotation) ~previous
`,
		},
		"being deleted": {
			"a deletion is a change of its own, whatever stands on what goes (L6)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil), deleting)
				s.baseline()
				s.gone("head")
			},
			`
trace 0 deleted
  reconcile Head head deleted
`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tt.tell(s)
			got := s.outline(t)
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tt.reason, diff)
			}
			for seed := range uint64(20) {
				again := outline(observe(permuted(s.seen, seed)).Traces(s.now().Add(60e9)))
				if diff := cmp.Diff(got, again); diff != "" {
					t.Fatalf("permutation %d gives another trace (-first +permuted):\n%s", seed, diff)
				}
			}
		})
	}
}

// TestHealingContext looks at what the outline leaves out: the trace and the
// remote parents are those of the contexts, the links lead to their traces.
func TestHealingContext(t *testing.T) {
	s := newStory()
	s.write("head", custom("Head"), carrying(traceA, 1, nil))
	s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, nil))
	s.finish("child", "head")
	s.wait(time.Minute)
	s.gone("child")
	s.write("child2", childOf("Head", "head", "Child"), carrying(traceB, 4, nil), func(st *observation.State) { st.TraceConvention = "kep-5915" })
	s.finish("child2")
	traces := observe(s.seen).Traces(s.now().Add(time.Minute))
	if len(traces) != 3 {
		t.Fatalf("got %d traces, want 3", len(traces))
	}
	root, want := traces[2].Root(), spanContext(traceB, 4, nil)
	if traces[2].ID != want.TraceID() || root.Parent != want.SpanID() || !root.RemoteParent {
		t.Errorf("trace %s below %s (remote %t), want the context's", traces[2].ID, root.Parent, root.RemoteParent)
	}
	for i, l := range root.Links {
		if l.TraceID != traces[i].ID {
			t.Errorf("link %v leads to %s, want %s", l.Attributes, l.TraceID, traces[i].ID)
		}
	}
	for _, kv := range []attribute.KeyValue{keyConvention.String("kep-5915"), span.KeyHeals.String("Child child")} {
		if !contains(root.Attributes, kv) {
			t.Errorf("attributes %v lack %v", root.Attributes, kv)
		}
	}
}

func contains(list []attribute.KeyValue, kv attribute.KeyValue) bool {
	for _, other := range list {
		if other == kv {
			return true
		}
	}
	return false
}
