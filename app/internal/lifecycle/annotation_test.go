// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/change"
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
	sc := change.ParseContext(fmt.Sprintf("00-%s-%016x-01", id, n), "")
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
	return &lifeline.Claim{
		Object: lifeline.Identity{Group: "example.com", Kind: kind, Namespace: "default", Name: name}.Hash(),
	}
}

// custom is an object of an operator's kind. Its status shows when it has converged.
func custom(k string) func(*observation.State) {
	return func(st *observation.State) {
		ofKind("example.com", k)(st)
		st.Progress = observation.ProgressInProgress
		st.Managers = []observation.Manager{{Name: "kubectl-create", Operation: "Update", Fields: 1}}
	}
}

// childOf is one that the controller of its owner made.
func childOf(ownerKind, owner, k string) func(*observation.State) {
	return func(st *observation.State) {
		custom(k)(st)
		st.Managers = []observation.Manager{
			{Name: strings.ToLower(ownerKind) + "-controller", Operation: "Update", Fields: 1},
		}
		st.Owners = []object.Owner{
			{
				Kind: object.Kind{
					Group:   "example.com",
					Version: "v1",
					Kind:    ownerKind,
				},
				Name:       owner,
				UID:        types.UID("uid-" + owner),
				Controller: true,
			},
		}
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

// changedAgo is the claim that the change was made that long before the story.
func changedAgo(d time.Duration) *lifeline.Claim { return &lifeline.Claim{Time: epoch.Add(-d)} }

type contextStory struct {
	reason string
	tell   func(*story)
	want   string
}

func contextStories() map[string]contextStory {
	all := operatorStories()
	maps.Copy(all, strangerStories())
	maps.Copy(all, admittedStories())
	return all
}

func TestContexts(t *testing.T) {
	for name, tt := range contextStories() {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tt.tell(s)
			got := s.outline(t)
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tt.reason, diff)
			}
			inAnyOrder(t, s, outline)
		})
	}
}

// TestContextsAreJudgedOnce takes each trace as soon as it has settled. The traces that are open
// meanwhile must stay the same.
func TestContextsAreJudgedOnce(t *testing.T) {
	for name, tt := range contextStories() {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tt.tell(s)
			takeAsSeen(t, tt.reason, s.seen)
		})
	}
}

// TestContextsAnywhere puts random contexts on the objects of recordings. Each trace is handed out once
// and complete. The order of observations and earlier handing out change no trace.
func TestContextsAnywhere(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			recorded := read(t, path)
			for seed := range seeds {
				seen := scattered(recorded, seed)
				traces := observe(seen).Traces(seen[len(seen)-1].Seen.Add(time.Minute))
				for _, tr := range traces {
					known := map[trace.SpanID]bool{}
					for _, s := range tr.Spans {
						known[s.ID] = true
					}
					for _, s := range tr.Spans {
						if s.Parent.IsValid() && !s.RemoteParent && !known[s.Parent] {
							t.Errorf("seed %d: %s %s is an orphan", seed, s.Name, s.Object.Name)
						}
					}
				}
				again := observe(permuted(seen, seed)).Traces(seen[len(seen)-1].Seen.Add(time.Minute))
				if diff := cmp.Diff(outline(traces), outline(again)); diff != "" {
					t.Errorf("seed %d: permuted input gives other traces (-first +permuted):\n%s", seed, diff)
				}
				if !joinsLate(path) {
					takeAsSeen(t, fmt.Sprintf("seed %d", seed), seen)
				}
			}
		})
	}
}

// joinsLate reports whether work joins a trace of the recording after it was handed out. A context of that
// trace is stale from the first handing out on (P4), so it is judged differently if all is known at once.
// In the recording of an aggregated API, the order of two objects in another storage may change as well.
func joinsLate(path string) bool {
	return slices.Contains(
		[]string{"aggregated.kwok.jsonl.gz",
			"argo-cd.kwok.jsonl.gz", "autoscaler.kwok.jsonl.gz", "cluster-api.kwok.jsonl.gz", "drain.kwok.jsonl.gz",
			"flux.kwok.jsonl.gz", "helm.kwok.jsonl.gz",
		},
		filepath.Base(path),
	)
}

// scattered puts spans of few traces on the objects, one for each object or, by
// odd seeds, one for each generation.
func scattered(recorded []*observation.Observation, seed uint64) []*observation.Observation {
	r, on := rand.New(rand.NewPCG(seed, 1)), map[string]func(*observation.State){}
	traces := []string{traceA, traceB, traceC}
	out := make([]*observation.Observation, 0, len(recorded))
	for _, o := range recorded {
		if o.State != nil {
			st, again := *o.State, *o
			key := string(st.UID)
			if seed%2 == 1 {
				key = fmt.Sprint(key, st.Generation)
			}
			if _, drawn := on[key]; !drawn {
				switch id, n := traces[r.IntN(3)], 1+r.IntN(6); r.IntN(6) {
				case 0:
					on[key] = func(*observation.State) {}
				case 2:
					on[key] = once(admitted(id, n, lifeline.BasisRequest))
				case 3:
					fresh := fmt.Sprintf("%032x", r.Uint64()|1)
					on[key] = once(admitted(fresh, 0, lifeline.BasisNone))
				case 1:
					on[key] = carrying(id, n, linkedTo(traces[r.IntN(3)], n))
				default:
					on[key] = carrying(id, n, nil)
				}
			}
			on[key](&st)
			again.State, o = &st, &again
		}
		out = append(out, o)
	}
	return out
}

// TestHealingContext checks data outside the outline: the trace and the remote parents are those of
// the contexts, and the links lead to their traces.
func TestHealingContext(t *testing.T) {
	s := newStory()
	s.write("head", custom("Head"), carrying(traceA, 1, nil))
	s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, nil))
	s.finish("child", "head")
	s.wait(time.Minute)
	s.gone("child")
	s.write(
		"child2",
		childOf("Head", "head", "Child"),
		carrying(traceB, 4, nil),
		func(st *observation.State) { st.TraceConvention = "kep-5915" },
	)
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
			t.Errorf("link %q leads to %s, want %s", l.Reason, l.TraceID, traces[i].ID)
		}
	}
	for _, kv := range []attribute.KeyValue{
		span.KeyConvention.String("kep-5915"),
		span.KeyHeals.String("Child child"),
		span.KeyParentSampled.Bool(want.IsSampled()),
	} {
		if !slices.Contains(root.Attributes, kv) {
			t.Errorf("attributes %v lack %v", root.Attributes, kv)
		}
	}
}

// TestHealingContextFollows: a wait for a run includes the replacements of the objects that the run
// removed, in any trace.
func TestHealingContextFollows(t *testing.T) {
	s := newStory()
	s.write("head", custom("Head"), arrived)
	s.write("child", childOf("Head", "head", "Child"), arrived)
	s.before()
	s.run(runID, "kubectl delete")
	s.gone("child")
	s.requested(runID, "delete", 200)
	s.ran(runID, "kubectl delete")
	s.write("child2", childOf("Head", "head", "Child"), carrying(traceB, 4, nil))
	e, id := observe(s.seen), spanContext(runID, 1, nil).TraceID()
	if e.Settled(id, s.now().Add(time.Minute)) {
		t.Error("the run has settled before the replacement of the removed object")
	}
	s.finish("child2")
	e = observe(s.seen)
	if !e.Settled(id, s.now().Add(time.Minute)) {
		t.Error("the run has not settled")
	}
	want := `trace 0 converged
  run converged
    reconcile Child child deleted (request)
      delete Child child (request)
trace 1 converged
  reconcile Child child2 converged (annotation) ~heals
`
	if diff := cmp.Diff(want, outline(e.Related(id, s.now().Add(time.Minute)))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// once applies give to the first version of an object, and copies its context to the later
// versions.
func once(give func(*observation.State)) func(*observation.State) {
	var first *observation.State
	return func(st *observation.State) {
		if first == nil {
			give(st)
			given := *st
			first = &given
			return
		}
		st.TraceParent, st.TraceState, st.TraceConvention = first.TraceParent, first.TraceState, first.TraceConvention
	}
}
