// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// States returns the states of traces: the words of span.States without Recovered, which is said beside one.
func States() []span.State {
	var out []span.State
	for _, w := range span.States() {
		if w.State != span.Recovered {
			out = append(out, w.State)
		}
	}
	return out
}

// Ended returns the states of ended traces among some, as outcomes.
func Ended(among []span.State) []span.Outcome {
	var out []span.Outcome
	for _, s := range among {
		if o := span.Outcome(s); slices.Contains(span.Outcomes, o) {
			out = append(out, o)
		}
	}
	return out
}

// anyState reports whether a state is among some; none permit all.
func anyState(among []span.State, s span.State) bool {
	return len(among) == 0 || slices.Contains(among, s)
}
