// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// scheduledIn returns the reconciliation with the phase `schedule` of an attempt's Pod. The entry is that
// of the Pod, or nil.
func (e *entry) scheduledIn(n *node) (stay, bool) {
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
// `schedule`. The context on a Pod names one of those. Likewise it moves a call to a plugin of the kubelet to
// its phase.
func (r *resolver) inPhase(n *node, h home) home {
	if h.change == nil || h.below != nil {
		return h
	}
	pod := r.identities.pod(n.pod)
	if st, ok := pod.scheduledIn(n); ok && st.change == h.change {
		h.at = st.schedule
	}
	if st, phase, ok := pod.calledIn(n); ok && st.change == h.change {
		h.at = phase
	}
	return h
}

// knowPhases adds those phases of t to the reconciliations in stays.
func knowPhases(stays []stay, t *span.Trace) {
	if len(stays) == 0 {
		return
	}
	at := make(map[trace.SpanID]int, len(stays))
	for i := range stays {
		at[stays[i].at] = i
	}
	for _, own := range t.Spans {
		i, is := at[own.Parent]
		if !is {
			continue
		}
		switch own.Name {
		case span.NameSchedule:
			stays[i].schedule = own.ID
		case span.NameSandbox:
			stays[i].sandbox = period{own.ID, own.Start.Time, own.End.Time}
		case span.NameTerminate:
			stays[i].terminate = own.ID
		}
	}
}
