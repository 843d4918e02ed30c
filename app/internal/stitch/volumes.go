// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// scopeCSI is the scope of the spans of calls to CSI drivers, in the module csi.
const scopeCSI = span.ScopeName + "/csi"

// mounts reports whether s is a call to a CSI driver for a Pod.
func mounts(s *span.Span) bool { return s.Origin != nil && s.Origin.Scope.Name == scopeCSI }

// unmounts reports whether s is such a call at the end of a Pod.
func unmounts(s *span.Span) bool {
	if !mounts(s) {
		return false
	}
	switch method(s.Name) {
	case "NodeUnpublishVolume", "NodeUnstageVolume":
		return true
	}
	return false
}

// period is a phase of a Pod. end is zero while it is open.
type period struct {
	id         trace.SpanID
	start, end time.Time
}

// during reports whether s, a call of the kubelet's, belongs to a phase by time.
func (p period) during(s *span.Span) bool {
	return p.id.IsValid() && !s.End.Before(p.start.Add(-slack)) &&
		(p.end.IsZero() || !s.Start.After(p.end.Add(slack)))
}

// mountedIn returns the reconciliation of n's Pod with the phase of a call to a CSI driver, and that
// phase: `sandbox` for a mount, `terminate` for an unmount.
func (s *Stitcher) mountedIn(n *node) (st stay, phase trace.SpanID, ok bool) {
	e := s.entries[identity{byPod, n.pod}]
	if e == nil || !mounts(n.span) {
		return stay{}, phase, false
	}
	for _, st := range e.stays {
		switch {
		case unmounts(n.span) && st.terminate.IsValid():
			return st, st.terminate, true // a Pod is deleted once
		case !unmounts(n.span) && st.sandbox.during(n.span):
			return st, st.sandbox.id, true
		}
	}
	return stay{}, phase, false
}
