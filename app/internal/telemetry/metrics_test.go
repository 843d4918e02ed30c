// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

var update = flag.Bool("update", false, "rewrite docs/metrics.md")

const page = "../../../docs/metrics.md"

// touched gives each labelled metric one value, so that it is exported.
func touched() *Metrics {
	m := NewMetrics(nil)
	m.Observations.Inc("watch")
	m.SourceLag.WithLabelValues("watch").Set(1)
	m.WatchDelay.WithLabelValues("pods").Set(0)
	m.WatchRequests.Inc("pods", "list")
	m.WatchErrors.Inc("pods", "slow")
	m.ReceiverRequests.Inc("grpc")
	m.SpansRejected.Inc("id")
	m.ReceiverRefused.Inc("full")
	m.SpansCut.Inc("text")
	m.SpansJoined.Inc("with")
	m.AuditEvents.Inc("write")
	m.ImpossibleTimes.Inc("audit")
	m.SpansUnjoined.Inc("noise")
	m.AdmissionContexts.Inc("owner")
	m.Writes.Inc("traced")
	m.RelationMatches.Inc("claim-of-database")
	m.RelationKeyless.Inc("claim-of-database", "to")
	m.TracesFinished.Inc("converged")
	m.ChangesFailed.Inc("Deployment", "image_not_found", "shop")
	m.ChangesStuck.WithLabelValues("Deployment", "image_not_found", "shop").Set(1)
	m.NoticesSent.Inc("dev.lifeline.change.failed")
	m.NoticesLost.Inc("refused")
	m.SpansDropped.Inc("age")
	m.Request("/api/v1/info", 200)
	m.ConfigReloads.Inc("taken")
	return m
}

// TestMetricsPage compares docs/metrics.md with the metrics.
func TestMetricsPage(t *testing.T) {
	families, err := touched().registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	got.WriteString("# Metrics of `lifeline serve`\n\n" +
		"At `/metrics` of the listener `telemetry.address`, beside those of the Go runtime (`go_*`) and of\n" +
		"the process (`process_*`). `lifeline webhook serve` has the same listener; it sets only\n" +
		"`lifeline_admission_*` and `lifeline_config_reloads_total`.\n\n" +
		"This page is generated: in `app`, `go test ./internal/telemetry -update` rewrites it.\n\n" +
		"| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n")
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "lifeline_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		fmt.Fprintf(&got, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()),
			strings.Join(labels, ", "), f.GetHelp())
	}
	if *update {
		if err := os.WriteFile(page, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s is not what is measured (-want +got); -update rewrites it:\n%s", page, diff)
	}
}

// TestMetricsAreComplete finds unset fields, and metrics without a field.
func TestMetricsAreComplete(t *testing.T) {
	m := touched()
	fields := 0
	for v := reflect.ValueOf(m).Elem(); fields < v.NumField(); fields++ {
		if f := v.Type().Field(fields); f.IsExported() && v.Field(fields).IsNil() {
			t.Errorf("%s is not set", f.Name)
		}
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "lifeline_") {
			own++
		}
		if f.GetHelp() == "" {
			t.Errorf("%s has no help", f.GetName())
		}
	}
	const unexported = 3 // registry, mu, refresh
	if own != fields-unexported {
		t.Errorf("%d metrics for %d fields", own, fields-unexported)
	}
	if testutil.CollectAndCount(m.SourceLag) != 1 {
		t.Error("what has labels is not collected")
	}
}

func TestMetricsLint(t *testing.T) {
	problems, err := testutil.GatherAndLint(touched().registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "lifeline_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestTotal(t *testing.T) {
	m := NewMetrics(nil)
	m.Observations.Add(-1, "watch")
	m.Observations.Inc("watch")
	for _, n := range []float64{5, 5, 8, 2} {
		m.Observations.Raise(n, "watch")
	}
	m.Observations.Raise(1, "proxy")
	if got := testutil.ToFloat64(m.Observations.vec.WithLabelValues("watch")); got != 1+8+2 {
		t.Errorf("got %v: one was counted here, eight there, and two after a restart of those", got)
	}
	if got := testutil.ToFloat64(m.Observations.vec.WithLabelValues("proxy")); got != 1 {
		t.Errorf("labels are not told apart: got %v", got)
	}
}

func TestDeliver(t *testing.T) {
	cases := map[string]struct {
		reason                               string
		delivered, dropped, refused, waiting int64
		want                                 float64
	}{
		"nothing":  {"nothing is missing where nothing was expected", 0, 0, 0, 0, 1},
		"all":      {"every span has arrived", 10, 0, 0, 0, 1},
		"some":     {"dropped, refused and waiting ones all count", 7, 1, 1, 1, 0.7},
		"all lost": {"the backend never answered", 0, 3, 0, 0, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			m := NewMetrics(nil)
			m.Deliver(tc.delivered, tc.dropped, tc.refused, tc.waiting)
			if got := testutil.ToFloat64(m.DeliveredRatio); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestAlertRules finds a metric in the alert rules that does not exist.
func TestAlertRules(t *testing.T) {
	rules, err := os.ReadFile("../../../deploy/prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	families, err := touched().registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, f := range families {
		known[f.GetName()] = true
	}
	used := regexp.MustCompile(`lifeline_\w+`).FindAllString(string(rules), -1)
	if len(used) < 5 {
		t.Errorf("the rules have only %d metrics", len(used))
	}
	for _, name := range used {
		if !known[name] {
			t.Errorf("the rules have %s, which is no metric", name)
		}
	}
}
