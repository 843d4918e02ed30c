// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestMadeForALaterObject: a controller replaces a lost Machine. It makes the infrastructure of the new Machine
// first, with the MachineSet as its owner; the Machine adopts it later.
func TestMadeForALaterObject(t *testing.T) {
	s := newStory()
	s.write("set", custom("MachineSet"))
	s.write("old", childOf("MachineSet", "set", "Machine"), arrived)
	s.write("set", arrived)
	s.wait(time.Minute)
	s.gone("old")
	s.write("infra", childOf("MachineSet", "set", "Infra"), func(st *observation.State) {
		st.Owners[0].Controller = false
	}, arrived)
	s.write("new", childOf("MachineSet", "set", "Machine"), arrived)
	s.write("infra", adopted(childOf("Machine", "new", "Infra")))
	const want = `trace 0 converged
  reconcile MachineSet set converged
    reconcile Machine old converged (owner)
trace 1 deleted
  reconcile Machine old deleted ~previous
trace 2 converged
  reconcile Machine new converged ~owner ~heals
    reconcile Infra infra converged (owner)
`
	if diff := cmp.Diff(want, s.outline(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	inAnyOrder(t, s, outline)
}

// TestScaledByTheAdopter: a person made the ReplicaSet, and a Deployment adopted it. The one that scales it
// later is the Deployment's controller.
func TestScaledByTheAdopter(t *testing.T) {
	by := func(fields uint64) func(*observation.State) {
		return func(st *observation.State) {
			st.Managers = []observation.Manager{
				{Name: "e2e.test", Operation: "Update", Fields: 1},
				{Name: change.Manager, Operation: "Update", Fields: fields},
			}
		}
	}
	s := newStory()
	s.write("old", replicaSet("web", 1), func(st *observation.State) {
		st.Owners, st.Managers = nil, []observation.Manager{{Name: "e2e.test", Operation: "Update", Fields: 1}}
	}, arrived)
	s.wait(time.Minute)
	s.write("web", deployment(1))
	s.write("old", adopted(replicaSet("web", 1)), by(2))
	s.write("new", replicaSet("web", 1), arrived)
	s.write("old", scaled(0), by(3))
	s.write("old", arrived)
	s.write("web", arrived)
	const want = `trace 0 converged
  reconcile ReplicaSet old converged
trace 1 converged
  reconcile Deployment web converged
    reconcile ReplicaSet new converged (owner)
    reconcile ReplicaSet old converged (owner) ~previous
`
	if diff := cmp.Diff(want, s.outline(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	inAnyOrder(t, s, outline)
}

// TestAdoptedLater: an object belongs to the change of the owner that made it, also after another one has
// adopted it.
func TestAdoptedLater(t *testing.T) {
	const created = `trace 0 converged
  reconcile Deployment web converged
    reconcile ReplicaSet web-1 converged (owner)
      reconcile Pod web-1-a converged (owner)
        schedule web-1-a
        sandbox web-1-a
`
	for name, tc := range map[string]struct {
		orphan func(*story)
		want   string
	}{
		"A ReplicaSet": {
			func(s *story) {
				s.write("web", deleting, func(st *observation.State) { st.Finalizers = []string{"orphan"} })
				s.write("web-1", func(st *observation.State) { st.Owners = nil })
				s.gone("web")
				s.wait(10 * time.Second)
				s.write("next", deployment(1), func(st *observation.State) { st.Name = "web" })
				s.write("web-1", adopted(replicaSet("next", 1)))
				s.write("web-1", arrived)
				s.write("next", arrived)
			},
			created + `trace 1 deleted
  reconcile Deployment web deleted ~previous
trace 2 converged
  reconcile Deployment web converged
`,
		},
		"A Pod": {
			func(s *story) {
				s.write("web-1", deleting, func(st *observation.State) { st.Finalizers = []string{"orphan"} })
				s.write("web-1-a", func(st *observation.State) { st.Owners = nil })
				s.gone("web-1")
				s.write("next", replicaSet("web", 1), func(st *observation.State) { st.Name = "web-1" })
				s.write("web-1-a", adopted(pod("next")))
				s.write("next", arrived)
				s.write("web", arrived)
			},
			created + `trace 1 deleted
  reconcile ReplicaSet web-1 deleted ~previous
trace 2 converged
  reconcile ReplicaSet web-1 converged ~owner ~heals
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.rollout()
			s.wait(time.Minute)
			tc.orphan(s)
			if diff := cmp.Diff(tc.want, s.outline(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			inAnyOrder(t, s, outline)
		})
	}
}

// adopted gives an object only the owners that the edit gives it.
func adopted(edit func(*observation.State)) func(*observation.State) {
	return func(st *observation.State) {
		child := observation.State{Created: st.Created}
		edit(&child)
		st.Owners = child.Owners
	}
}
