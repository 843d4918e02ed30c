// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byRequest is rule C2 for a request of a run. The new context on the object, if any, becomes a
// link.
func byRequest(s *Scene, w *change.Write) (Cause, bool) {
	l := s.Placed.LineOf(w)
	if l == nil {
		return Cause{}, false
	}
	c := Cause{
		Line:     l,
		Above:    change.ParseContext(l.Run.TraceParent, "").SpanID(),
		Evidence: span.ByRequest,
		Span:     admittedIn(s, w, l.ID),
	}
	if w.Version != nil && w.Version.TraceParent != "" {
		if sc := change.ParseContext(
			w.Version.TraceParent,
			w.Version.TraceState,
		); sc.IsValid() && sc.TraceID() != l.ID &&
			(w.Previous == nil || w.Previous.TraceParent != w.Version.TraceParent) {
			c.Links = append(c.Links, span.Link{TraceID: sc.TraceID(), SpanID: sc.SpanID(), Reason: linkAnnotation})
		}
	}
	return c, true
}
