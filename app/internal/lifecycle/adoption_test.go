// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	s.write("infra", func(st *observation.State) {
		child := *st
		childOf("Machine", "new", "Infra")(&child)
		st.Owners = child.Owners
	})
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
