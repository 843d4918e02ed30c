// SPDX-License-Identifier: Apache-2.0

package store

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Write is one stored API write, the source of spans.
type Write struct {
	// TraceID and SpanID name the write's span: its own if its request was seen, else the
	// reconciliation.
	TraceID trace.TraceID
	SpanID  trace.SpanID
	// Number is the write's place among the writes of its span, from 0.
	Number int
	// Object is the written object. An object other than the span's has no group and no version. So a
	// list of the traces of a Deployment omits traces that only note its status.
	Object object.Ref
	// Write has the rest; Of is nil.
	span.Write
}

// precedes reports whether w was stored before v. The times of two writes to one object may have different
// precisions, so their resourceVersions decide.
func (w *Write) precedes(v *Write) bool {
	same := w.Object.UID != "" && w.Object.UID == v.Object.UID
	if same && w.ResourceVersion > 0 && v.ResourceVersion > 0 {
		return w.ResourceVersion < v.ResourceVersion
	}
	return w.Start.Before(v.Start)
}

// WritesOf returns the stored writes of s: its own, unless it was refused, and those without a span of
// their own. A span of another component has none: its write has a span of Lifeline already.
func WritesOf(s *span.Span) []Write {
	if s.Origin != nil || s.Facts == nil {
		return nil
	}
	out := make([]Write, len(s.Facts.Writes))
	for i, w := range s.Facts.Writes {
		out[i] = Write{TraceID: s.TraceID, SpanID: s.ID, Number: i, Object: s.Object, Write: w}
		if w.Of != nil {
			out[i].Object, out[i].Of = *w.Of, nil
			out[i].Object.Group, out[i].Object.Version = "", ""
		}
	}
	return out
}
