// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// State is what a list shows of a trace: its outcome, or Running or Stuck while it is open.
type State string

const (
	// Running is the state of an open trace.
	Running State = "running"
	// Stuck is the state of an open trace with a span that waits after an error.
	Stuck State = "stuck"
)

// States are all states.
var States = func() []State {
	out := []State{Running, Stuck}
	for _, o := range span.Outcomes {
		out = append(out, State(o))
	}
	return out
}()

// State returns the state of the trace.
func (s *Summary) State() State {
	switch {
	case !s.Open:
		return State(s.Outcome)
	case s.Stuck:
		return Stuck
	default:
		return Running
	}
}

// Ended returns the states of ended traces among some, as outcomes.
func Ended(among []State) []span.Outcome {
	var out []span.Outcome
	for _, s := range among {
		if s != Running && s != Stuck {
			out = append(out, span.Outcome(s))
		}
	}
	return out
}

// anyState reports whether a state is among some; none permit all.
func anyState(among []State, s State) bool { return len(among) == 0 || slices.Contains(among, s) }
