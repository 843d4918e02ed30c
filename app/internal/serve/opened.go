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

// openFor is for how long what was open counts as open if the loop does not say so
// again: it looks less often under load, and not at all while the store cannot be
// written to.
const openFor = 10 * time.Second

// opened are the reconciliations under way, as they were at the last look, for
// those who must not wait for the loop: an API server waits a second for
// admission, and a look under load may take longer. What is newer than the look,
// the one who asks has admitted itself.
//
// Each look puts a whole new table in place of the last. It has an entry for each
// reconciliation that is open, not for each object, and the same look has made
// spans of all of them, which costs many times as much (BenchmarkOpened). So
// there is nothing to be locked, and nothing that could be out of step.
//
// The zero value knows of none. It is safe for concurrent use.
type opened struct{ table atomic.Pointer[openTable] }

type openTable struct {
	at time.Time
	by map[types.UID]openSpan
}

// openSpan is the context of a reconciliation, in less room, and the namespace of
// its object.
type openSpan struct {
	namespace string

	trace   trace.TraceID
	span    trace.SpanID
	sampled bool
}

// publish puts what is open now in place of what was. The traces are those of the
// same look: a context from outside that began one has decided whether it is
// sampled, else the ID decides.
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

// of returns the context of the reconciliation of an owner, if it was open, of
// something in the same namespace. One that is in none is owner to all namespaces:
// its context would be handed to whoever names its UID.
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
