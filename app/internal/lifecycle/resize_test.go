// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// requests is a write of the request for CPU of a container, and of a field beside it.
func requests(generation int64, cpu, image uint64) func(*observation.State) {
	return func(st *observation.State) {
		st.Generation, st.Desired = generation, uint64(generation)
		st.Leaves = []observation.Leaf{
			{Path: "spec.containers[name=app].image", Value: image, Managers: 1},
			{Path: "spec.containers[name=app].resources.requests.cpu", Value: cpu, Managers: 1},
		}
	}
}

// resizeIs is the status of the kubelet about the resize to the given generation.
func resizeIs(generation int64, reason string) func(*observation.State) {
	return func(st *observation.State) {
		ready(st)
		st.ObservedGeneration = generation
		if reason != "" {
			st.Conditions = append(st.Conditions,
				observation.Condition{Type: "PodResizePending", Status: "True", Reason: reason, Message: "no CPU"})
		}
	}
}

// debugged is a write of an ephemeral container that does not start.
func debugged(generation int64) func(*observation.State) {
	return func(st *observation.State) {
		requests(generation, 1, 1)(st)
		st.Leaves = append(st.Leaves,
			observation.Leaf{Path: "spec.ephemeralContainers[name=debugger].image", Value: 1, Managers: 1})
	}
}

// debugWaits is the status of the kubelet about such a container.
func debugWaits(generation int64) func(*observation.State) {
	return func(st *observation.State) {
		resizeIs(generation, "")(st)
		st.Progress, st.ProgressMessage = observation.ProgressInProgress, "waiting for ephemeral container debugger"
	}
}

// TestResize: an infeasible resize has failed, and a deferred one waits. It does not wait for an ephemeral
// container.
func TestResize(t *testing.T) {
	cases := map[string]struct {
		reason string
		tell   func(*story)
		want   string
	}{
		"infeasible": {"the kubelet does not try it again", func(s *story) {
			s.write("web", requests(2, 2, 1))
			s.write("web", resizeIs(2, "Infeasible"))
		}, "trace 0 failed: Pod web cannot be resized: no CPU\n  reconcile Pod web failed\n"},
		"infeasible and undone": {"a declared failure stays", func(s *story) {
			s.write("web", requests(2, 2, 1))
			s.write("web", resizeIs(2, "Infeasible"))
			s.wait(time.Minute)
			s.write("web", requests(3, 1, 1))
			s.write("web", resizeIs(3, ""))
		}, "trace 0 failed: Pod web cannot be resized: no CPU\n  reconcile Pod web failed\n" +
			"trace 1 converged\n  reconcile Pod web converged ~previous\n"},
		"replaced before the answer": {"the condition is about the next resize", func(s *story) {
			s.write("web", requests(2, 2, 1))
			s.write("web", requests(3, 3, 1))
			s.write("web", resizeIs(3, "Infeasible"))
		}, "trace 0 superseded\n  reconcile Pod web superseded\n" +
			"trace 1 failed: Pod web cannot be resized: no CPU\n  reconcile Pod web failed ~previous\n"},
		"not observed": {"the condition is about the resize before", func(s *story) {
			s.write("web", requests(2, 2, 1))
			s.write("web", resizeIs(2, "Infeasible"))
			s.wait(time.Minute)
			s.write("web", requests(3, 3, 1))
		}, "trace 0 failed: Pod web cannot be resized: no CPU\n  reconcile Pod web failed\n" +
			"trace 1 unfinished: Pod web waits for its resize\n  reconcile Pod web ~previous\n"},
		"deferred": {"the kubelet tries it again", func(s *story) {
			s.write("web", requests(2, 2, 1))
			s.write("web", resizeIs(2, "Deferred"))
		}, "trace 0 unfinished: Pod web waits for its resize: no CPU\n  reconcile Pod web\n"},
		"deferred and done": {"the kubelet has finished it", func(s *story) {
			s.write("web", requests(2, 2, 1))
			s.write("web", resizeIs(2, "Deferred"))
			s.wait(time.Minute)
			s.write("web", resizeIs(2, ""))
		}, "trace 0 converged\n  reconcile Pod web converged\n"},
		"another change": {"only the resize has failed", func(s *story) {
			s.write("web", requests(2, 2, 1))
			s.write("web", resizeIs(2, "Infeasible"))
			s.wait(time.Minute)
			s.write("web", requests(3, 2, 2))
			s.write("web", resizeIs(3, "Infeasible"))
		}, "trace 0 failed: Pod web cannot be resized: no CPU\n  reconcile Pod web failed\n" +
			"trace 1 converged\n  reconcile Pod web converged ~previous\n"},
		"beside an ephemeral container": {"only the container has not started", func(s *story) {
			s.write("web", debugged(2))
			s.write("web", debugWaits(2))
			s.wait(time.Minute)
			s.write("web", debugged(3), func(st *observation.State) { st.Leaves[1].Value = 2 })
			s.write("web", debugWaits(3))
		}, "trace 0 superseded\n  reconcile Pod web superseded\n" +
			"trace 1 converged\n  reconcile Pod web converged ~previous\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("web", pod(""), requests(1, 1, 1))
			s.write("web", bind)
			s.write("web", ready, resizeIs(1, ""))
			s.wait(time.Minute)
			s.before()
			tc.tell(s)
			if diff := cmp.Diff(tc.want, s.outline(t)); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
			}
			inAnyOrder(t, s, outline)
		})
	}
}

// TestDeferredResize: a resize ends when the kubelet has done it.
func TestDeferredResize(t *testing.T) {
	s := newStory()
	s.write("web", pod(""), requests(1, 1, 1))
	s.write("web", bind)
	s.write("web", ready, resizeIs(1, ""))
	s.wait(time.Minute)
	s.before()
	s.write("web", requests(2, 2, 1))
	begun := s.now()
	s.write("web", resizeIs(2, "Deferred"))
	s.wait(4800 * time.Millisecond)
	s.write("web", resizeIs(2, ""))
	if took := s.now().Sub(begun); took != 5*time.Second {
		t.Fatalf("the story takes %s", took)
	}
	for how, traces := range map[string][]*span.Trace{
		"at the end": observe(s.seen).Traces(s.now().Add(time.Minute)), "with a look every second": looks(s),
	} {
		if diff := cmp.Diff("trace 0 converged\n  reconcile Pod web converged\n", outline(traces)); diff != "" {
			t.Fatalf("%s: -want +got:\n%s", how, diff)
		}
		root := traces[0].Root()
		if took := root.End.Sub(root.Start.Time); took != 5*time.Second {
			t.Errorf("%s: took %s, want 5 s", how, took)
		}
	}
	inAnyOrder(t, s, outline)
}
