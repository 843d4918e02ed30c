// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/notice"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// scraped returns /metrics with a header Accept.
func scraped(t *testing.T, r prometheus.Gatherer, accept string) string {
	t.Helper()
	w, q := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
	q.Header.Set("Accept", accept)
	telemetry.Handler(telemetry.HandlerOptions{Metrics: r}).ServeHTTP(w, q)
	return w.Body.String()
}

const openMetrics = "application/openmetrics-text;version=1.0.0"

// TestDurations: the first outcome of a change and the completed phases count, and a kept trace is an exemplar.
func TestDurations(t *testing.T) {
	r := prometheus.NewRegistry()
	d := newDurations(r)
	of := spantest.Apply()
	root, namespace := of.Root(), notice.ChangedObject(of).Namespace
	d.expect([]*span.Trace{of})
	series := fmt.Sprintf(`kind="Deployment",namespace=%q,outcome="converged"`, namespace)
	shows(t, r, `lifeline_change_seconds_count{`+series+`} 0`)
	d.count([]*span.Trace{of}, map[trace.TraceID]bool{of.ID: true})
	shows(t, r, `lifeline_change_seconds_count{`+series+`} 1`)
	sum := fmt.Sprintf("lifeline_change_seconds_sum{%s} %v\n", series, root.Duration(time.Time{}).Seconds())
	if text := scraped(t, r, ""); !strings.Contains(text, sum) || strings.Contains(text, "trace_id") {
		t.Errorf("want %s", sum)
	}
	text := scraped(t, r, openMetrics)
	if !strings.Contains(text, `# {trace_id="`+of.ID.String()+`"}`) || !strings.HasSuffix(text, "# EOF\n") {
		t.Errorf("OpenMetrics has no exemplar:\n%s", text)
	}
	for _, phase := range []string{"total", "pull", "readiness"} {
		if !strings.Contains(text, fmt.Sprintf(`lifeline_phase_seconds_count{kind="Pod",namespace=%q,phase=%q}`,
			namespace, phase)) {
			t.Errorf("no phase %s", phase)
		}
	}
}

// TestDurationsLeaveOut: a healing is no change, a trace without a copy no exemplar, and an open phase has no length.
func TestDurationsLeaveOut(t *testing.T) {
	r := prometheus.NewRegistry()
	d := newDurations(r)
	d.count(spantest.Healing()[1:], nil)
	if n := testutil.CollectAndCount(d.change); n != 0 {
		t.Errorf("%d series of changes by a healing", n)
	}
	open := spantest.Apply()
	for _, s := range open.Spans {
		if s.Name == span.NamePull {
			s.End = span.Time{}
		}
	}
	d = newDurations(prometheus.NewRegistry())
	d.count([]*span.Trace{open}, nil)
	if n := testutil.CollectAndCount(d.phase); n == 0 {
		t.Error("no phases")
	}
	if d.phase.DeletePartialMatch(prometheus.Labels{"phase": "pull"}) > 0 {
		t.Error("an open pull has a length")
	}
	if strings.Contains(scraped(t, r, openMetrics), "trace_id") {
		t.Error("an exemplar of a trace that is not kept")
	}
}

// TestDurationsBounded: beyond 500 pairs, the series do not grow.
func TestDurationsBounded(t *testing.T) {
	d := newDurations(prometheus.NewRegistry())
	for i := range 600 {
		of := spantest.Apply()
		for _, s := range of.Spans {
			s.Object.Namespace = fmt.Sprintf("team-%d", i)
		}
		d.count([]*span.Trace{of}, nil)
	}
	if n := testutil.CollectAndCount(d.change); n != 501 {
		t.Errorf("%d series of changes, want 500 and (other)", n)
	}
}
