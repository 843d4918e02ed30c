// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// scheduledIn returns the reconciliation with the phase `schedule` of an attempt's Pod.
func (s *Stitcher) scheduledIn(n *node) (stay, bool) {
	e := s.entries[identity{byPod, n.pod}]
	if e == nil || !n.span.IsAttempt() {
		return stay{}, false
	}
	for _, st := range e.stays {
		if st.schedule.IsValid() {
			return st, true
		}
	}
	return stay{}, false
}

// inPhase moves an attempt from its Pod's reconciliation, or from a write of that, to the phase
// `schedule`. The context on a Pod names one of those.
func (s *Stitcher) inPhase(n *node, h home) home {
	if h.change == nil || h.below != nil {
		return h
	}
	if st, ok := s.scheduledIn(n); ok && st.change == h.change {
		h.at = st.schedule
	}
	return h
}

// knowSchedules adds the phases `schedule` of t to the reconciliations in stays.
func knowSchedules(stays []stay, t *span.Trace) {
	phases := map[trace.SpanID]trace.SpanID{}
	for _, own := range t.Spans {
		if own.Name == span.NameSchedule {
			phases[own.Parent] = own.ID
		}
	}
	for i := range stays {
		stays[i].schedule = phases[stays[i].at]
	}
}
