// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/archive"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/notice"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/relation"
	"github.com/kube-lifeline/lifeline/app/internal/shift"
	"github.com/kube-lifeline/lifeline/app/internal/source/audit"
	"github.com/kube-lifeline/lifeline/app/internal/source/otlp"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/serving"
)

var update = flag.Bool("update", false, "rewrite docs/metrics.md")

const metricsPage = "../../../docs/metrics.md"

// listing is a registry that remembers what was registered, and gives each vector one value.
type listing struct {
	*prometheus.Registry
	names map[string]bool
}

var descName = regexp.MustCompile(`fqName: "([^"]+)"`)

// MustRegister implements prometheus.Registerer.
func (l *listing) MustRegister(all ...prometheus.Collector) {
	l.Registry.MustRegister(all...)
	for _, c := range all {
		descs := make(chan *prometheus.Desc, 16)
		c.Describe(descs)
		close(descs)
		for d := range descs {
			l.names[descName.FindStringSubmatch(d.String())[1]] = true
		}
		touched := false
		for n := 1; n < 5 && !touched; n++ {
			labels := make([]string, n)
			switch vec := c.(type) {
			case *prometheus.CounterVec:
				_, err := vec.GetMetricWithLabelValues(labels...)
				touched = err == nil
			case *prometheus.GaugeVec:
				_, err := vec.GetMetricWithLabelValues(labels...)
				touched = err == nil
			case *prometheus.HistogramVec:
				_, err := vec.GetMetricWithLabelValues(labels...)
				touched = err == nil
			}
		}
	}
}

// zero returns the zero value.
func zero[T any]() (none T) { return }

// noCounts are the counts of a server whose parts have not started.
func noCounts() counts {
	return counts{
		spans: zero[otlp.Stats], audit: zero[[]audit.Stats], outbox: zero[export.OutboxStats],
		notices: zero[[]notice.Stats], changes: &notice.Counts{}, archive: zero[archive.Stats],
		stored:    func(context.Context) (store.Stats, error) { return store.Stats{}, nil },
		watch:     zero[*watchCounts],
		joined:    &joinedCounts{},
		relations: &relations{},
		now:       time.Now,
	}
}

// noMetrics are metrics of a server whose parts have not started.
func noMetrics() (*metrics, *prometheus.Registry) {
	r := prometheus.NewRegistry()
	return newMetrics(r, noCounts()), r
}

// everyMetric returns all metrics of a server, each with a value.
func everyMetric(t *testing.T) *listing {
	t.Helper()
	one := map[string]uint64{"some": 1}
	c := noCounts()
	c.spans = func() otlp.Stats { return otlp.Stats{Requests: one, Rejected: one, Refused: one, Cut: one} }
	c.audit = func() []audit.Stats { return []audit.Stats{{Writes: 1, Impossible: 1}} }
	c.outbox = func() export.OutboxStats {
		return export.OutboxStats{Dropped: map[export.DropReason]int64{export.DroppedAge: 1}}
	}
	c.notices = func() []notice.Stats {
		sent := map[notice.Type]int64{notice.Started: 1}
		return []notice.Stats{{Receiver: "team", Sent: sent, Refused: 1, Failures: 1}}
	}
	failed := &span.Trace{Outcome: span.Failed}
	tracker := problem.NewTracker("")
	tracker.Lacks(&problem.Failing{Category: "image_not_found"}, time.Time{})
	c.changes.Look(tracker.Snapshot(time.Time{}), []*span.Trace{failed})
	c.changes.Report(&shift.Report{Shifts: []shift.Shift{{Kind: "Pod", Phase: "pull"}}})
	c.watch = func() *watchCounts {
		return &watchCounts{Stats: watch.Stats{Resources: []watch.ResourceStats{{Lists: 1, Errors: one}}}}
	}
	c.joined.Store(&joiningStats{Stats: stitch.Stats{Joined: 1, Noise: 1}})
	declared, err := relation.NewSet([]relation.Declaration{{
		Name: "a", From: schema.GroupKind{Kind: "ConfigMap"}, To: schema.GroupKind{Kind: "Pod"},
		Match: "from.metadata.name == to.metadata.name",
	}})
	must(t, err)
	declared.Keys(schema.GroupKind{Kind: "Pod"}, map[string]any{})
	c.relations = &relations{declared: declared}
	c.relations.matches.Store(&map[string]uint64{"a": 1})
	l := &listing{prometheus.NewRegistry(), map[string]bool{}}
	metrics := newMetrics(l, c).loop
	metrics.writes.Store(&lifecycle.WriteStats{Traced: 1})
	metrics.requests.Store(&lifecycle.AuditStats{Joined: 1})
	newReloadMetric(l)
	serving.New(serving.Options{
		Config:     func() config.WebhookConfiguration { return config.Default().Webhook },
		Registerer: l, Log: slog.New(slog.DiscardHandler),
	})
	return l
}

// TestMetricsPage compares docs/metrics.md with the metrics.
func TestMetricsPage(t *testing.T) {
	l := everyMetric(t)
	families, err := l.Gather()
	must(t, err)
	var got strings.Builder
	got.WriteString("# Metrics of `lifeline serve`\n\n" +
		"At `/metrics` of the listener `telemetry.address`, beside those of the Go runtime (`go_*`) and of\n" +
		"the process (`process_*`). `lifeline webhook serve` has the same listener, with only\n" +
		"`lifeline_admission_*` and `lifeline_config_reloads_total`.\n\n" +
		"This page is generated: in `app`, `go test ./internal/serve -run TestMetricsPage -update` rewrites it.\n\n" +
		"| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n")
	for _, f := range families {
		delete(l.names, f.GetName())
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		fmt.Fprintf(&got, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()),
			strings.Join(labels, ", "), f.GetHelp())
	}
	for name := range l.names {
		t.Errorf("%s has no value here, and so no row", name)
	}
	if *update {
		must(t, os.WriteFile(metricsPage, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(metricsPage)
	must(t, err)
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s differs from the metrics (-want +got); -update rewrites it:\n%s", metricsPage, diff)
	}
}

func TestMetricsLint(t *testing.T) {
	problems, err := testutil.GatherAndLint(everyMetric(t))
	must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestMetricsFromTheStart: a metric without labels has its value before any part has started.
func TestMetricsFromTheStart(t *testing.T) {
	_, r := noMetrics()
	shows(t, r, "lifeline_export_delivered_ratio 1", "lifeline_clock_jumps_total 0", "lifeline_receiver_spans_total 0",
		"lifeline_open_traces 0", "lifeline_leader 0", "lifeline_archive_dropped_spans_total 0")
}

// TestStoredMetrics: without the archive, the last counts stay.
func TestStoredMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	var err error
	newStorageMetrics(r, func(context.Context) (store.Stats, error) { return store.Stats{Traces: 7, Bytes: 8}, err })
	shows(t, r, "lifeline_store_traces 7", "lifeline_store_bytes 8")
	err = store.ErrUnavailable
	shows(t, r, "lifeline_store_traces 7", "lifeline_store_bytes 8")
}

// TestAlertRules finds a metric in the alert rules that does not exist.
func TestAlertRules(t *testing.T) {
	rules, err := os.ReadFile("../../../deploy/prometheus/rules.yaml")
	must(t, err)
	known := everyMetric(t).names
	everyKnown(t, known, string(rules), 5)
}

// TestDashboard finds a metric in the dashboard that does not exist.
func TestDashboard(t *testing.T) {
	dashboard, err := os.ReadFile("../../../deploy/helm/lifeline/files/dashboard.json")
	must(t, err)
	everyKnown(t, everyMetric(t).names, string(dashboard), 20)
}

// everyKnown checks that a text names at least some metrics, all of which exist.
func everyKnown(t *testing.T, known map[string]bool, text string, least int) {
	t.Helper()
	used := regexp.MustCompile(`lifeline_\w+`).FindAllString(text, -1)
	if len(used) < least {
		t.Errorf("only %d metrics", len(used))
	}
	series := regexp.MustCompile(`_(bucket|count|sum)$`)
	for _, name := range used {
		if !known[name] && !known[series.ReplaceAllString(name, "")] {
			t.Errorf("%s is no metric", name)
		}
	}
}

// shows checks that the metrics contain each line.
func shows(t *testing.T, r prometheus.Gatherer, lines ...string) {
	t.Helper()
	w := httptest.NewRecorder()
	telemetry.Handler(telemetry.HandlerOptions{Metrics: r}).
		ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range lines {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("the metrics lack %q", line)
		}
	}
}

// TestWatchMetrics: before there are watches, nothing is known about their lag.
func TestWatchMetrics(t *testing.T) {
	watches := noCounts().watch
	m := newWatchMetrics(func() *watchCounts { return watches() }, zero[[]audit.Stats])
	if n := testutil.CollectAndCount(m); n != 0 {
		t.Errorf("%d metrics without watches", n)
	}
	watches = func() *watchCounts {
		resources := []watch.ResourceStats{{Delay: time.Second}}
		return &watchCounts{Stats: watch.Stats{Resources: resources}, lag: time.Minute}
	}
	r := prometheus.NewRegistry()
	r.MustRegister(m)
	shows(t, r, `lifeline_source_lag_seconds{source="watch"} 60`, `lifeline_watch_delay_seconds{resource=""} 1`)
}
