// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"testing"
	"time"
)

func (d delivery) String() string { return [...]string{"live", "behind", "catchingUp"}[d] }

func TestLag(t *testing.T) {
	// The states are those of a stream whose last watch had late changes up to version 7.
	states := map[delivery]lag{
		live: {late: 7}, behind: {delivery: behind, late: 7}, catchingUp: {delivery: catchingUp, late: 7},
	}
	for name, c := range map[string]struct {
		reason string
		event  func(*lag)
		// want has the states after the event in live, behind and catchingUp. late is the last late
		// version after it.
		want [3]delivery
		late uint64
	}{
		"FallBehind": {
			"after a break, the next watch begins with late changes",
			(*lag).fallBehind, [3]delivery{behind, behind, behind}, 7,
		},
		"CatchUp": {
			"the present version at the opening is the last late one",
			func(l *lag) { l.catchUp(9) }, [3]delivery{catchingUp, catchingUp, catchingUp}, 9,
		},
		"IsBefore": {
			"an earlier version ends nothing",
			func(l *lag) { l.isAt(6) }, [3]delivery{live, behind, catchingUp}, 7,
		},
		"IsAt": {
			"without a watch, no version ends the lag",
			func(l *lag) { l.isAt(7) }, [3]delivery{live, behind, live}, 7,
		},
		"CaughtUp": {
			"a quiet watch has delivered everything",
			(*lag).caughtUp, [3]delivery{live, live, live}, 7,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for from, l := range states {
				c.event(&l)
				if l.delivery != c.want[from] || l.late != c.late {
					t.Errorf("%s: got %s up to %d, want %s up to %d: %s",
						from, l.delivery, l.late, c.want[from], c.late, c.reason)
				}
				if !l.isLate(c.late) || l.isLate(c.late+1) {
					t.Errorf("%s: the last late version is not %d: a late change may come after others", from, c.late)
				}
			}
		})
	}
}

// TestLagAtOpening: a new watch delivers no late changes if the stream had a sign of life just before.
func TestLagAtOpening(t *testing.T) {
	const limit = time.Minute
	beaten, old := pulse{at: time.Now()}, pulse{at: time.Now().Add(-2 * limit)}
	for name, c := range map[string]struct {
		reason string
		lag    lag
		want   bool
	}{
		"First":      {"nothing came before the first watch", lag{}, true},
		"Reopened":   {"a short break", lag{pulse: beaten}, true},
		"Silent":     {"a long break", lag{pulse: old}, false},
		"Behind":     {"the position is from an earlier process", lag{delivery: behind, pulse: beaten}, false},
		"CatchingUp": {"a receiver was slow again", lag{delivery: catchingUp, pulse: beaten}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.lag.isLive(limit); got != c.want {
				t.Errorf("live: %t, want %t: %s", got, c.want, c.reason)
			}
		})
	}
	l := lag{pulse: old}
	l.catchUp(1)
	if l.pulse.missed(limit) {
		t.Error("the request for the present version is no sign of life")
	}
}

func TestContact(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		reason   string
		events   func(*contact)
		starting bool
		refused  bool
	}{
		"New": {"a refusal is final without an earlier loss", func(*contact) {}, false, false},
		"Lost": {
			"a server that was lost may be starting",
			func(c *contact) { c.lose(now.Add(1 - startingUp)) }, true, false,
		},
		"LostBefore": {
			"a start takes half a minute at most",
			func(c *contact) { c.lose(now.Add(-startingUp)) }, false, false,
		},
		"Refused": {"a refusal lasts until a success", (*contact).refuse, false, true},
		"RefusedThenLost": {
			"the loss of a server accepts no credentials",
			func(c *contact) { c.refuse(); c.lose(now) }, true, true,
		},
		"Accepted": {
			"a success ends the refusal, and not the start",
			func(c *contact) { c.lose(now); c.refuse(); c.accept() }, true, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var of contact
			c.events(&of)
			if got := of.isStarting(now); got != c.starting {
				t.Errorf("starting: %t, want %t: %s", got, c.starting, c.reason)
			}
			if got := of.accept(); got != c.refused || of.accept() {
				t.Errorf("refused: %t, want %t, once: %s", got, c.refused, c.reason)
			}
		})
	}
}
