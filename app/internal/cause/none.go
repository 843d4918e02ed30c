// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byNone is rule C6: a new trace.
func byNone(s *Scene, w *change.Write) Cause { return Cause{Line: newLine(s, w)} }

// newLine returns the lineage begun by w, a new one if it is not known. Its ID is the same for every observer.
func newLine(s *Scene, w *change.Write) *change.Lineage {
	id := derivedID(s, w)
	if l := s.Placed.Lines[id]; l != nil {
		return l
	}
	return &change.Lineage{ID: id, First: w.RV}
}

// derivedID returns the trace ID for w as the beginning of a trace.
func derivedID(s *Scene, w *change.Write) trace.TraceID {
	return span.DeriveTraceID(s.options.Cluster, string(w.Timeline.Ref.UID), w.Verb.String(), w.Which())
}
