// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byNone is rule C6: a new trace.
func (f *Finder) byNone(w *change.Write) Cause { return Cause{Line: f.newLine(w)} }

// newLine returns the lineage begun by w. Its ID is the same for every observer.
func (f *Finder) newLine(w *change.Write) *change.Lineage {
	id := f.derivedID(w)
	if l := f.Lines[id]; l != nil {
		return l
	}
	l := &change.Lineage{ID: id, First: w.RV}
	f.Lines[id] = l
	return l
}

// derivedID returns the trace ID for w as the beginning of a trace.
func (f *Finder) derivedID(w *change.Write) trace.TraceID {
	return span.DeriveTraceID(f.options.Cluster, string(w.Timeline.Ref.UID), w.Verb.String(), w.Which())
}
