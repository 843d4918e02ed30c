// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byRequest is rule C2: the request was made by a run.
func (d *derivation) byRequest(w *write) (cause, bool) {
	l := d.lineOfWrite(w)
	if l == nil {
		return cause{}, false
	}
	c := cause{
		line:     l,
		above:    parseContext(l.run.TraceParent, "").SpanID(),
		evidence: span.ByRequest,
		span:     d.admittedIn(w, l.id),
	}
	if w.v != nil && w.v.TraceParent != "" {
		if sc := parseContext(
			w.v.TraceParent,
			w.v.TraceState,
		); sc.IsValid() && sc.TraceID() != l.id &&
			(w.prev == nil || w.prev.TraceParent != w.v.TraceParent) {
			c.links = append(
				c.links,
				span.Link{TraceID: sc.TraceID(), SpanID: sc.SpanID(), Attributes: linkReason(linkAnnotation)},
			)
		}
	}
	return c, true
}
