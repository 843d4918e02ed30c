// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// publishingOf returns a publishing to a world, and its metrics.
func publishingOf(t *testing.T, w *world) (*publishing, prometheus.Gatherer) {
	t.Helper()
	m, r := noMetrics()
	return &publishing{
		view: w.view, consumers: []consumer{w.writer, noOutbox(t, w)}, hub: &api.Hub{}, progress: &progress{},
		metrics: m.loop, now: time.Now,
	}, r
}

// TestCountsBeforeSampling: sampling does not change the share of failed traces.
func TestCountsBeforeSampling(t *testing.T) {
	w := newWorldOver(t, t.TempDir(), nil)
	s, metrics := publishingOf(t, w)
	r := newRecorder(w.Journal, recorderOptions{Sampling: func() sampling { return sampling{failed: true} }})
	l := &look{Changes: &journal.Changes{}}
	var finished []*span.Trace
	for i, outcome := range []span.Outcome{span.Converged, span.Converged, span.Failed} {
		id := trace.TraceID{15: byte(i + 1)}
		finished = append(finished, &span.Trace{ID: id, Outcome: outcome, Spans: []*span.Span{{TraceID: id}}})
	}
	r.finish(l, finished, time.Now())
	s.stored(l)
	shows(t, metrics,
		`lifeline_traces_finished_total{outcome="converged"} 2`,
		`lifeline_traces_finished_total{outcome="failed"} 1`,
		`lifeline_spans_made_total 3`,
		`lifeline_traces_sampled_out_total 2`,
	)
}

// TestStreamsOfALook: a look has the changed open traces and the withdrawn ones for the streams. Readers
// no longer find a withdrawn trace.
func TestStreamsOfALook(t *testing.T) {
	w := newWorld(t, t.TempDir())
	<-w.writer.Opened()
	s, _ := publishingOf(t, w)
	one := func(id byte) *span.Trace {
		tr := &span.Trace{ID: trace.TraceID{15: id}}
		tr.Spans = []*span.Span{{TraceID: tr.ID, ID: trace.SpanID{id}, Start: span.Time{Time: time.Unix(1, 0)}}}
		return tr
	}
	r := newRecorder(w.Journal, w.options(recorderOptions{}))
	open := []*span.Trace{one(1), one(2), one(3)}
	first := &look{Changes: &journal.Changes{AsOf: time.Now()}, prints: map[trace.TraceID]uint64{}}
	r.unfold(first, open, first.AsOf)
	first.withdraw(nil)
	must(t, w.Commit(t.Context(), first.Changes))
	s.stored(first)
	r.prints = first.prints
	if len(first.changed) != 3 || len(w.open(t)) != 3 {
		t.Errorf("%d changed, %d are open", len(first.changed), len(w.open(t)))
	}

	second := &look{Changes: &journal.Changes{AsOf: time.Now()}, prints: map[trace.TraceID]uint64{}}
	r.finish(second, open[1:2], second.AsOf) // the third is gone
	r.unfold(second, open[:1], second.AsOf)
	second.withdraw(r.prints)
	must(t, w.Commit(t.Context(), second.Changes))
	s.stored(second)
	if len(second.changed) != 0 || len(second.withdrawn) != 1 || second.withdrawn[0] != open[2].ID {
		t.Errorf("changed %v, withdrawn %v, want the third", second.changed, second.withdrawn)
	}
	if got := w.open(t); len(got) != 1 || got[0] != open[0].ID.String() {
		t.Errorf("open are %v", got)
	}
	if _, err := w.view.Trace(t.Context(), store.Scope{}, open[2].ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a withdrawn trace: %v", err)
	}
	if got := w.trace(t, open[1].ID); got.Open {
		t.Error("the finished trace is open")
	}
}
