// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// The scopes of the spans of calls to CSI drivers and device plugins, in the module kubelet.
const (
	scopeCSI     = span.ScopeName + "/kubelet/csi"
	scopeDevices = span.ScopeName + "/kubelet/deviceplugin"
)

// callsPlugin reports whether s is a call of a kubelet to one of its plugins for a Pod.
func callsPlugin(s *span.Span) bool {
	return s.Origin != nil && (s.Origin.Scope.Name == scopeCSI || s.Origin.Scope.Name == scopeDevices)
}

// unmounts reports whether s is such a call at the end of a Pod.
func unmounts(s *span.Span) bool {
	if !callsPlugin(s) {
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

// calledIn returns the reconciliation of n's Pod with the phase of a call to a plugin of the kubelet, and that
// phase: `terminate` for an unmount, `sandbox` for a mount and an allocation of devices. The preparation of a
// container has none: it is between the phases. The entry is that of the Pod, or nil.
func (e *entry) calledIn(n *node) (st stay, phase trace.SpanID, ok bool) {
	if e == nil || !callsPlugin(n.span) || method(n.span.Name) == "PreStartContainer" {
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
