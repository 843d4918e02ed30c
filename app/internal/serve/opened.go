// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"iter"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// openFor is the lifetime of a table without a newer look: looks are less frequent under load, and
// stop while the journal cannot be written.
const openFor = 10 * time.Second

// opened holds the open reconciliations of the last look, for callers that cannot wait for the
// loop. An API server waits a second for admission, and a look under load may take longer. The
// webhook itself has the newer admissions.
//
// Each look replaces the whole table. A table has one entry for each open reconciliation, not for
// each object. The same look has made spans of all of them, at many times the cost
// (BenchmarkOpened). So it needs no lock and is always consistent.
//
// The zero value is empty. It is safe for concurrent use.
type opened struct{ table atomic.Pointer[openTable] }

type openTable struct {
	at time.Time
	by map[types.UID]openSpan
}

// openSpan is the compact context of a reconciliation, and the namespace of its object.
type openSpan struct {
	namespace string

	trace   trace.TraceID
	span    trace.SpanID
	sampled bool
}

// publish replaces the table. The traces are those of the same look. For a trace below a context
// from outside, that context decides whether it is sampled; otherwise the ID does.
func (o *opened) publish(
	open iter.Seq2[object.Ref, trace.SpanContext],
	traces []*span.Trace,
	by sampling,
	now time.Time,
) {
	decided := map[trace.TraceID]bool{}
	for _, t := range traces {
		if sampled, is := outside(t); is {
			decided[t.ID] = sampled
		}
	}
	last := 0
	if t := o.table.Load(); t != nil {
		last = len(t.by)
	}
	table := &openTable{at: now, by: make(map[types.UID]openSpan, last)}
	for ref, sc := range open {
		sampled, is := decided[sc.TraceID()]
		if !is {
			sampled = by.byRatio(sc.TraceID())
		}
		table.by[ref.UID] = openSpan{ref.Namespace, sc.TraceID(), sc.SpanID(), sampled}
	}
	o.table.Store(table)
}

// of returns the context of an owner's open reconciliation, if the owner is in the same namespace.
// A cluster-scoped owner has none here: any writer that names its UID would get its context.
func (o *opened) of(namespace string, uid types.UID, now time.Time) (trace.SpanContext, bool) {
	t := o.table.Load()
	if t == nil || now.Sub(t.at) > openFor {
		return trace.SpanContext{}, false
	}
	s, known := t.by[uid]
	if !known || s.namespace != namespace {
		return trace.SpanContext{}, false
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: s.trace, SpanID: s.span, TraceFlags: trace.TraceFlags(0).WithSampled(s.sampled), Remote: true,
	}), true
}
