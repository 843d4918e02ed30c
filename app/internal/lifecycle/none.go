// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byNone is rule C6: a new trace.
func (d *derivation) byNone(w *write) cause { return cause{line: d.newLine(w)} }

// newLine returns the lineage that w starts; its ID is the same in every
// observer.
func (d *derivation) newLine(w *write) *lineage {
	id := d.derivedID(w)
	if l := d.lines[id]; l != nil {
		return l
	}
	l := &lineage{id: id, first: w.rv}
	d.lines[id] = l
	return l
}

// derivedID is the ID of the trace that w starts, if it does.
func (d *derivation) derivedID(w *write) trace.TraceID {
	return span.DeriveTraceID(d.opts.Cluster, string(w.t.ref.UID), string(w.verb), w.which())
}
