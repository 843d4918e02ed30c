// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestAmendmentsAreSentWithTheirTraces: an amendment of a kept trace is stored, and sent only if the
// trace is: the trace of an earlier look, of this look, and after a restart.
func TestAmendmentsAreSentWithTheirTraces(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	came := began.Add(2 * time.Second)
	finished := func(id byte, at time.Time) *span.Trace {
		when := span.Time{Time: at, Source: span.TimeWatch}
		s := &span.Span{
			TraceID: trace.TraceID{id}, ID: trace.SpanID{id}, Name: "reconcile Pod",
			Object: object.Ref{Namespace: "a", Name: "b"}, Start: when, End: when,
		}
		return &span.Trace{ID: s.TraceID, Spans: []*span.Span{s}}
	}
	amendment := func(id byte) *span.Trace {
		tr := finished(id, began.Add(4*time.Second))
		s := tr.Spans[0]
		s.ID, s.Parent, s.Name = trace.SpanID{id, 1}, trace.SpanID{id}, span.NameLate
		return tr
	}
	dir := t.TempDir()
	w, r := begin(t, dir)
	sends := func(tr *span.Trace) bool { return !tr.Spans[0].Start.Before(came) }
	r.Sends = sends
	earlier := &look{Changes: &journal.Changes{AsOf: came}}
	r.finish(earlier, []*span.Trace{finished(1, began), finished(2, came)}, came)
	must(t, w.Commit(t.Context(), earlier.Changes))

	for range 2 { // the second time after a restart
		l := &look{Changes: &journal.Changes{AsOf: came}}
		r.finish(l, []*span.Trace{finished(4, began), finished(5, came)}, came)
		r.amend(t.Context(), l, []*span.Trace{
			amendment(1), amendment(2), amendment(3), amendment(4), amendment(5),
		})
		got := map[byte]journal.Consumer{}
		for _, e := range l.Entries {
			if e.Amends {
				got[e.Trace.ID[0]] = e.For
			}
		}
		const both = journal.Archive | journal.Sender
		want := map[byte]journal.Consumer{1: journal.Archive, 2: both, 4: journal.Archive, 5: both}
		if len(got) != len(want) {
			t.Errorf("amendments of %v, want of %v", got, want)
		}
		for id, consumers := range want {
			if got[id] != consumers {
				t.Errorf("the amendment of trace %d is for %b, want %b", id, got[id], consumers)
			}
		}
		w.end()
		w, r = begin(t, dir)
		r.Sends = sends
	}
}

// TestAmendmentsOfUnkeptTraces: later spans of a trace that sampling has dropped are dropped, too.
func TestAmendmentsOfUnkeptTraces(t *testing.T) {
	w, r := begin(t, t.TempDir())
	r.Sampling = func() sampling { return sampling{failed: true} }
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	one := func(id byte, outcome span.Outcome) *span.Trace {
		s := &span.Span{TraceID: trace.TraceID{8: 0xff, 15: id}, ID: trace.SpanID{id}}
		return &span.Trace{ID: s.TraceID, Outcome: outcome, Spans: []*span.Span{s}}
	}
	for _, when := range []string{"in the same look", "in a later look"} {
		l := &look{Changes: &journal.Changes{AsOf: now}}
		kept := 0
		if when == "in the same look" {
			r.finish(l, []*span.Trace{one(1, span.Converged), one(2, span.Failed)}, now)
			kept = 1
		}
		r.amend(t.Context(), l, []*span.Trace{one(1, ""), one(2, "")})
		var amended []byte
		for _, e := range l.Entries {
			if e.Amends {
				amended = append(amended, e.Trace.ID[15])
			}
		}
		if len(l.Entries) != kept+1 || len(amended) != 1 || amended[0] != 2 {
			t.Errorf("%s: %d entries, amendments of %v, want those of the failed trace", when, len(l.Entries), amended)
		}
		must(t, w.Commit(t.Context(), l.Changes))
	}
}
