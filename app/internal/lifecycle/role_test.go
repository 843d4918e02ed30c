// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestRoles: an owner's status may not show that it has converged. The first dependant of each role
// is then part of the last change, at any delay. For other dependants a window of time decides,
// with the evidence time.
func TestRoles(t *testing.T) {
	kind := func(st *observation.State) { custom("Claim")(st); st.ObservedGeneration = -1 }
	child := func(s *story, name string) { s.write(name, childOf("Claim", "a", "Box")); s.write(name, arrived) }
	desire := func(st *observation.State) {
		changed(st)
		st.Managers = slices.Clone(st.Managers)
		st.Managers[0].Fields++
		st.Managers[0].Time = written(st.ResourceVersion).Truncate(time.Second)
	}
	updated := func(s *story, name string, delay time.Duration) {
		s.wait(10 * time.Second)
		s.write("a", desire)
		s.wait(delay)
		s.write(name, desire)
		s.write(name, arrived) // late work is told when it has ended
	}
	for name, tc := range map[string]struct {
		reason string
		tell   func(s *story)
		want   string
	}{
		"InTime": {"within the window", func(s *story) { s.wait(2900 * time.Millisecond); child(s, "box") }, "owner"},
		"Late":   {"beyond the window", func(s *story) { s.wait(3100 * time.Millisecond); child(s, "box") }, "owner"},
		"SecondInTime": {"another of that role, within the window", func(s *story) {
			child(s, "box-1")
			s.wait(2 * time.Second)
			child(s, "box-2")
		}, "time"},
		"SecondLate": {"another of that role, beyond the window", func(s *story) {
			child(s, "box-1")
			s.wait(5 * time.Second)
			child(s, "box-2")
		}, "root"},
		"OtherRole": {"another role, beyond the window", func(s *story) {
			child(s, "box-primary")
			s.wait(5 * time.Second)
			child(s, "box-replica")
		}, "owner"},
		"Generated": {"another with a generated name without a digit, beyond the window", func(s *story) {
			named := func(name string) {
				s.write(name, childOf("Claim", "a", "Box"), func(st *observation.State) { st.GenerateName = "box-" })
				s.write(name, arrived)
			}
			named("box-bcdfg")
			s.wait(5 * time.Second)
			named("box-hjklm")
		}, "root"},
		"Replaced": {"one that was lost is healed", func(s *story) {
			child(s, "box")
			s.wait(5 * time.Second)
			s.gone("box")
			delete(s.objects, "box")
			s.write("box2", childOf("Claim", "a", "Box"))
		}, "root"},
		"UpdatedLate": {"the first update after a change of the owner", func(s *story) {
			child(s, "box")
			updated(s, "box", 5*time.Second)
		}, "time"},
		"UpdatedMuchLater": {"an update more than a minute after the change", func(s *story) {
			child(s, "box")
			updated(s, "box", 70*time.Second)
		}, "root"},
		"UpdatedTwice": {"the second update after a change of the owner", func(s *story) {
			child(s, "box")
			updated(s, "box", 5*time.Second)
			s.wait(5 * time.Second)
			s.write("box", desire)
		}, "root"},
		"UpdatedAfterALoss": {"the loss of another child may be the cause", func(s *story) {
			child(s, "box")
			child(s, "lid")
			s.wait(10 * time.Second)
			s.write("a", desire)
			s.wait(5 * time.Second)
			s.gone("lid")
			s.write("box", desire)
		}, "root"},
		"UpdatedAfterAnEdit": {"somebody's edit of another child may be the cause", func(s *story) {
			child(s, "box")
			child(s, "lid")
			s.wait(10 * time.Second)
			s.write("a", desire)
			s.wait(5 * time.Second)
			s.write("lid", desire, by("kubectl-edit"))
			s.write("box", desire)
		}, "root"},
		"UpdatedOnly": {"an update without a change of the owner", func(s *story) {
			child(s, "box")
			s.wait(5 * time.Second)
			s.write("box", desire)
		}, "root"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("a", kind)
			s.write("a", kind, arrived, func(st *observation.State) { st.ObservedGeneration = -1 })
			tc.tell(s)
			last := s.seen[len(s.seen)-1]
			got := "none"
			for line := range strings.Lines(s.outline(t)) {
				if !strings.Contains(line, "reconcile Box "+last.State.Name+" ") {
					continue
				}
				got = "root"
				for _, evidence := range []string{"owner", "time"} {
					if strings.Contains(line, "("+evidence+")") {
						got = evidence
					}
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s\n%s", tc.reason, diff, s.outline(t))
			}
			inAnyOrder(t, s, outline)
		})
	}
}

// TestStatusWithoutSubresource: a write of such a status raises the generation, but does not count
// as a change. A write of any other field is a change.
func TestStatusWithoutSubresource(t *testing.T) {
	leaves := func(operation uint64) func(*observation.State) {
		return func(st *observation.State) {
			st.Leaves = []observation.Leaf{{Path: "spec.project", Value: 1, Managers: 1}}
			if operation > 0 {
				st.Leaves = append(
					[]observation.Leaf{{Path: "operation.sync", Value: operation, Managers: 1}},
					st.Leaves...)
			}
		}
	}
	refreshed := func(st *observation.State) { st.Generation++; st.Progress = observation.ProgressCurrent }
	app := func(st *observation.State) { custom("Application")(st); st.ObservedGeneration = -1 }
	s := newStory()
	s.write("app", app, leaves(0))
	for range 5 {
		s.wait(time.Minute)
		s.write("app", refreshed)
	}
	s.wait(time.Minute)
	s.write("app", refreshed, leaves(7))
	want := "trace 0 converged\n  reconcile Application app converged\n" +
		"trace 1 converged\n  reconcile Application app converged ~previous\n"
	if diff := cmp.Diff(want, s.outline(t)); diff != "" {
		t.Errorf("a creation, five refreshes and an operation: -want +got:\n%s", diff)
	}
}

// TestSlowStatus: the first object of a kind has no status yet, and its trace is handed out. The first
// dependants come later, at the same look as the first status with an observed generation.
func TestSlowStatus(t *testing.T) {
	s, e := newStory(), New(Options{Cluster: "test"})
	s.write("a", custom("Claim"), func(st *observation.State) {
		st.ObservedGeneration, st.Progress = -1, observation.ProgressCurrent
	})
	for _, o := range s.seen {
		e.Observe(o)
	}
	s.wait(10 * time.Second)
	n := len(s.seen)
	first := e.Take(s.now())
	if diff := cmp.Diff("trace 0 converged\n  reconcile Claim a converged\n", outline(first)); diff != "" {
		t.Fatalf("before the status: -want +got:\n%s", diff)
	}
	s.write("box", childOf("Claim", "a", "Box"))
	s.write("box", arrived)
	s.write("a", func(st *observation.State) {
		st.ObservedGeneration, st.Progress = 1, observation.ProgressInProgress
	})
	s.wait(time.Second)
	s.write("a", arrived)
	for _, o := range s.seen[n:] {
		e.Observe(o)
	}
	if others := e.Take(s.now().Add(time.Minute)); len(others) > 0 {
		t.Errorf("the dependant began a trace:\n%s", outline(others))
	}
	late := e.Amendments()
	if len(late) != 1 || late[0].ID != first[0].ID || !strings.Contains(outline(late), "Box box converged (owner)") {
		t.Errorf("the dependant is not in the trace of its owner:\n%s", outline(late))
	}
}
