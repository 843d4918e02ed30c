// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestHeld: an observation that waits for the values of other objects is emitted complete, after the lists, and
// before all later positions.
func TestHeld(t *testing.T) {
	var got []string
	listed := false
	o := &output{
		emit: func(out *observation.Observation) {
			if out.Later != nil {
				t.Error("an incomplete observation was emitted")
			}
			got = append(got, out.Event.Note)
		},
		reached: func(p Position) { got = append(got, "position "+p.Version) },
		listed:  func() bool { return listed }, patience: time.Hour,
	}
	hand := func(note string, waits bool) {
		out := &observation.Observation{Event: &observation.Event{Note: note}}
		if waits {
			out.Later = func() { out.Event.Note += ", complete" }
		}
		o.hand(out)
	}
	check := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		got = nil
	}
	hand("a", false)
	o.reach(Position{Version: "1"})
	check("a", "position 1")
	hand("b", true)
	hand("c", false)
	o.reach(Position{Version: "2"})
	o.reach(Position{Version: "3"})
	o.release()
	check("c")
	listed = true
	o.release()
	check("b, complete", "position 3")
	o.reach(Position{Version: "4"})
	check("position 4")

	// A list that takes too long costs the text.
	listed = false
	hand("x", true)
	o.reach(Position{Version: "5"})
	o.release()
	check()
	o.patience = 0
	o.release()
	check("x", "position 5")
	listed, o.patience = true, time.Hour

	// What waits at the end is emitted, complete if all is known.
	hand("d", true)
	o.close()
	o.close()
	check("d, complete")
	hand("e", true)
	o.release()
	check()

	o.closed, o.held, listed = false, nil, false
	for range maxHeld {
		hand("f", true)
	}
	hand("one more", true)
	check("one more")
}
