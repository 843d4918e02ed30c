// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
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
