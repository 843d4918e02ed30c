// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"path/filepath"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestAmendmentsAreSentWithTheirTraces: what comes late of a trace is stored, and
// sent only if the trace is, whenever it happened.
func TestAmendmentsAreSentWithTheirTraces(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	came := began.Add(2 * time.Second)
	spanned := func(id byte, at time.Time) *span.Span {
		when := span.Time{Time: at, Source: span.TimeWatch}
		return &span.Span{
			TraceID: trace.TraceID{
				id,
			},
			ID:     trace.SpanID{id},
			Name:   "reconcile Pod",
			Object: object.Ref{Namespace: "a", Name: "b"},
			Start:  when,
			End:    when,
		}
	}
	amendment := func(id byte) *span.Trace {
		s := spanned(id, began.Add(4*time.Second))
		s.ID, s.Parent, s.Name = trace.SpanID{id, 1}, trace.SpanID{id}, "amend"
		return &span.Trace{ID: s.TraceID, Spans: []*span.Span{s}}
	}
	r := begin(t, openSQLite(t, filepath.Join(t.TempDir(), "a.db")))
	r.Sends = func(tr *span.Trace) bool { return !tr.Spans[0].Start.Before(came) }
	early, seen := spanned(1, began), spanned(2, came)
	if err := r.ledger.commit(t.Context(), &store.Batch{AsOf: came, Finished: []*span.Trace{
		{ID: early.TraceID, Spans: []*span.Span{early}}, {ID: seen.TraceID, Spans: []*span.Span{seen}},
	}}); err != nil {
		t.Fatal(err)
	}
	l := &look{batch: &store.Batch{}}
	entries := r.amend(t.Context(), l, []*span.Trace{amendment(1), amendment(2), amendment(3)}, came)
	if len(l.batch.Amendments) != 2 {
		t.Errorf("%d amendments are stored, want those of the two stored traces", len(l.batch.Amendments))
	}
	if len(entries) != 1 || entries[0].TraceID != seen.TraceID {
		t.Errorf("sent: %v, want the trace whose beginning was observed", entries)
	}
}
