// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/cputime"
	"github.com/kube-lifeline/lifeline/app/internal/insight/comparison"
	"github.com/kube-lifeline/lifeline/app/internal/insight/regression"
	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/store/storetest"
)

// allRollups returns all rollups, those with the same start in the order of CompareRollups.
func allRollups(t testing.TB, s *sqlite.Store) []sample.Rollup {
	t.Helper()
	var out []sample.Rollup
	for r, err := range s.Rollups(t.Context(), store.RollupQuery{}) {
		must(t, err)
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b sample.Rollup) int { return store.CompareRollups(&a, &b) })
	return out
}

// TestEarlierTraces: the traces of an earlier version get their rollups in the background, a bounded number at a time.
func TestEarlierTraces(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "lifeline.db"))
	const traces = 1300
	b := &store.Batch{Revision: 1, AsOf: spantest.Epoch}
	for n := range traces {
		b.Finished = append(b.Finished, renamed(spantest.Apply(), strconv.Itoa(n)))
	}
	must(t, s.Write(t.Context(), b))
	want := allRollups(t, s)
	must(t, s.Unroll(t.Context()))
	must(t, s.Write(t.Context(), &store.Batch{
		Revision: 2, AsOf: spantest.Epoch, Finished: []*span.Trace{renamed(spantest.Apply(), "7")}, // another version
	}))
	for _, rounds := range []int{1, 2, 3} {
		_, err := s.Prune(t.Context(), store.Limits{})
		must(t, err)
		got := allRollups(t, s)
		if rounds == 1 && (len(got) <= len(want)/2 || len(got) >= len(want)) {
			t.Errorf("%d of %d rollups after one round", len(got), len(want))
		}
		if diff := cmp.Diff(want, got); rounds > 1 && diff != "" {
			t.Errorf("after %d rounds (-want +got):\n%s", rounds, diff)
		}
	}
}

// TestRollupsOverPages: a sequence over several queries has each rollup once, in order.
func TestRollupsOverPages(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "lifeline.db"))
	const traces = 700
	h := storetest.Year(traces)
	h.Pods, h.Every = 1, 0 // all start at the same time
	for from := 0; from < traces; from += 100 {
		b := &store.Batch{Revision: int64(from + 1), AsOf: spantest.Epoch}
		for n := from; n < from+100; n++ {
			b.Finished = append(b.Finished, h.Trace(n))
		}
		must(t, s.Write(t.Context(), b))
	}
	all := allRollups(t, s)
	if len(all) < 2*traces || len(all) > 3*traces {
		t.Errorf("%d rollups", len(all))
	}
	for i := 1; i < len(all); i++ {
		if all[i].Start.Before(all[i-1].Start) {
			t.Fatalf("rollup %d starts before the one before", i)
		}
	}
	seen := map[string]bool{}
	for _, r := range all {
		key := r.Trace.String() + r.Kind + r.Verb
		if seen[key] {
			t.Errorf("%s comes twice", key)
		}
		seen[key] = true
	}
}

// TestRollupsView: the view has what the rollups have, and quantile is by the nearest rank.
func TestRollupsView(t *testing.T) {
	path := archive(t)
	for statement, want := range map[string][][]any{
		"SELECT count(*) = count(DISTINCT trace || kind || object || workload || verb), count(*) > 2 FROM v_rollups": {
			{int64(1), int64(1)},
		},
		"SELECT kind, count, duration, phase_pull FROM v_rollups WHERE phase_pull > 2 AND trace = '" +
			spantest.Apply().ID.String() + "'": {{"Pod", int64(1), 4.08, 2.93}},
		"SELECT json_type(attributes), json_type(parts) FROM v_rollups LIMIT 1": {{"object", "array"}},
		"SELECT quantile(value, 0.5), quantile(value, 0.95), quantile(value, 1), quantile(value, 0) " +
			"FROM json_each('[4,1,3,2,null]')": {{int64(2), int64(4), int64(4), int64(1)}},
		"SELECT quantile(value, 0.5) FROM json_each('[1.5, 2]')": {{1.5}},
		"SELECT quantile(value, 0.5) FROM json_each('[]')":       {{nil}},
		"SELECT value % 2, quantile(value, 0.5) FROM json_each('[1,2,3,4,5]') GROUP BY 1": {
			{int64(0), int64(2)}, {int64(1), int64(3)},
		},
	} {
		got, err := ask(t, path, statement)
		if err != nil {
			t.Errorf("%s: %v", statement, err)
			continue
		}
		if d := cmp.Diff(want, got.Rows); d != "" {
			t.Errorf("%s: -want +got:\n%s", statement, d)
		}
	}
	for _, statement := range []string{
		"SELECT quantile(value, 2) FROM json_each('[1]')", "SELECT quantile('a', 0.5)", "SELECT quantile(1, 'a')",
		"SELECT quantile(value, value) FROM json_each('[0.1, 0.2]')", "SELECT data FROM rollups",
	} {
		if got, err := ask(t, path, statement); err == nil {
			t.Errorf("%s: %+v", statement, got)
		}
	}
}

// lifecyclesOfYear is the number of lifecycles of a benchmark: 100,000, or as many as LIFELINE_LIFECYCLES says.
func lifecyclesOfYear(b *testing.B) int {
	b.Helper()
	n := 100_000
	if text := os.Getenv("LIFELINE_LIFECYCLES"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		must(b, err)
	}
	return n
}

// BenchmarkLearn finds the regressions of a year, and compares two sets of 100,000 lifecycles at most.
func BenchmarkLearn(b *testing.B) {
	if testing.Short() {
		b.Skip("it makes an archive of a year")
	}
	n := lifecyclesOfYear(b)
	s, err := sqlite.Open(b.Context(), store.Config{Path: filepath.Join(b.TempDir(), "lifeline.db")})
	must(b, err)
	b.Cleanup(func() { must(b, s.Close()) })
	h := storetest.Year(n / 20)
	for from := 0; from < n/20; from += 500 {
		must(b, s.PutLifecycles(b.Context(), traces(&h, from, min(from+500, n/20))))
	}
	b.Run("Rollups", func(b *testing.B) {
		before := cputime.Used(b)
		for b.Loop() {
			parts := 0
			all := func(yield func(sample.Rollup) bool) {
				for r, err := range s.Rollups(b.Context(), store.RollupQuery{}) {
					must(b, err)
					if parts += len(r.Parts); !yield(r) {
						return
					}
				}
			}
			report := regression.Find(all, regression.Options{Now: spantest.Epoch})
			b.ReportMetric(float64(report.Samples), "rollups")
			b.ReportMetric(float64(parts), "parts")
			b.ReportMetric(float64(len(report.Regressions)), "regressions")
		}
		b.ReportMetric((cputime.Used(b)-before).Seconds()/float64(b.N), "cpu-s/op")
		size, err := s.RollupBytes(b.Context())
		must(b, err)
		b.ReportMetric(float64(size)/float64(n), "bytes/lifecycle")
	})
	middle := `timestamp("` + spantest.Epoch.Add(-365*24*time.Hour/2).Format(time.RFC3339) + `")`
	for name, sets := range map[string][2]string{
		"SamplesByTime": {
			`kind == "Pod" && start < ` + middle, `kind == "Pod" && start >= ` + middle,
		},
		"SamplesByZone": {`zone == "zone-a"`, `zone == "zone-b"`}, // of three: it reads three times as many rows
	} {
		b.Run(name, func(b *testing.B) {
			before := cputime.Used(b)
			for b.Loop() {
				var set [2][]sample.Lifecycle
				for i, text := range sets {
					q := store.FindQuery{
						Where: parse(b, text), Now: spantest.Epoch, Since: spantest.Epoch.Add(-400 * 24 * time.Hour),
						Limit: 100_000,
					}
					for one, err := range s.Samples(b.Context(), q) {
						must(b, err)
						set[i] = append(set[i], one)
					}
				}
				b.ReportMetric(float64(len(set[0])+len(set[1])), "samples")
				b.ReportMetric(float64(len(comparison.Sets(set[0], set[1]).Rows)), "phases")
			}
			b.ReportMetric((cputime.Used(b)-before).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}
