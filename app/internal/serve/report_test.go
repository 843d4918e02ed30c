// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// shows checks that the metrics contain each line.
func shows(t *testing.T, m *telemetry.Metrics, lines ...string) {
	t.Helper()
	w := httptest.NewRecorder()
	telemetry.Handler(telemetry.HandlerOptions{Metrics: m}).
		ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range lines {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("the metrics lack %q", line)
		}
	}
}

// TestCountsBeforeSampling: sampling does not change the share of failed traces.
func TestCountsBeforeSampling(t *testing.T) {
	w := newWorldOver(t, t.TempDir(), nil)
	s := &server{metrics: telemetry.NewMetrics(nil), clock: newClock(time.Now, time.Time{}, nil)}
	s.view, s.archive, s.outbox = w.view, w.writer, noOutbox(t, w)
	r := newRecorder(w.Journal, recorderOptions{Sampling: func() sampling { return sampling{failed: true} }})
	l := &look{Changes: &journal.Changes{}}
	var finished []*span.Trace
	for i, outcome := range []span.Outcome{span.Converged, span.Converged, span.Failed} {
		id := trace.TraceID{15: byte(i + 1)}
		finished = append(finished, &span.Trace{ID: id, Outcome: outcome, Spans: []*span.Span{{TraceID: id}}})
	}
	r.finish(l, finished, time.Now())
	s.stored(l)
	shows(t, s.metrics,
		`lifeline_traces_finished_total{outcome="converged"} 2`,
		`lifeline_traces_finished_total{outcome="failed"} 1`,
		`lifeline_spans_made_total 3`,
		`lifeline_traces_sampled_out_total 2`,
	)
}

func TestBlind(t *testing.T) {
	type resources = []watch.ResourceStats
	tests := map[string]struct {
		reason string
		stats  resources
		want   bool
	}{
		"nothing yet":  {"before the first statistics", nil, false},
		"ended":        {"what nothing watches any more does not count", resources{{}}, false},
		"one of two":   {"little is better than nothing", resources{{Streams: 2, Unreadable: 2}, {Streams: 1}}, false},
		"some streams": {"some namespaces may be read", resources{{Streams: 2, Unreadable: 1}}, false},
		"none": {
			"there is nothing to see",
			resources{{Streams: 2, Unreadable: 2}, {Streams: 1, Unreadable: 1}, {}},
			true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := blind(watch.Stats{Resources: tt.stats}); got != tt.want {
				t.Errorf("blind is %t, want %t: %s", got, tt.want, tt.reason)
			}
		})
	}
}

// TestStreamsOfALook: a look has the changed open traces and the withdrawn ones for the streams. Readers
// no longer find a withdrawn trace.
func TestStreamsOfALook(t *testing.T) {
	w := newWorld(t, t.TempDir())
	<-w.writer.Opened()
	s := &server{metrics: telemetry.NewMetrics(nil), clock: newClock(time.Now, time.Time{}, nil)}
	s.view, s.archive, s.outbox = w.view, w.writer, noOutbox(t, w)
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
