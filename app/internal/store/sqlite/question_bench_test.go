// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/store/storetest"
)

// proposal is the question that the project was first written for.
const proposal = `kind == "Pod" && phase.startup > duration("30s") && ` +
	`images.exists(i, i.contains("nginx")) && volumes > 2`

func parse(t testing.TB, text string) *question.Question {
	t.Helper()
	q, err := question.Parse(text)
	must(t, err)
	return q
}

// year returns an archive with the lifecycles of a year: 100,000 in `make bench`, or as many as
// LIFELINE_LIFECYCLES says.
func year(b *testing.B) *sqlite.Store {
	b.Helper()
	n := 100_000
	if text := os.Getenv("LIFELINE_LIFECYCLES"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		must(b, err)
	}
	s, err := sqlite.Open(b.Context(), store.Config{Path: filepath.Join(b.TempDir(), "lifeline.db")})
	must(b, err)
	b.Cleanup(func() { must(b, s.Close()) })
	h := storetest.Year(n / 20)
	for from := 0; from < n/20; from += 500 {
		must(b, s.PutLifecycles(b.Context(), traces(&h, from, min(from+500, n/20))))
	}
	return s
}

// traces returns the traces of a history with these numbers.
func traces(h *storetest.History, from, to int) iter.Seq[*span.Trace] {
	return func(yield func(*span.Trace) bool) {
		for n := from; n < to; n++ {
			if !yield(h.Trace(n)) {
				return
			}
		}
	}
}

func BenchmarkQuestions(b *testing.B) {
	s := year(b)
	all := store.FindQuery{Now: spantest.Epoch, Since: spantest.Epoch.Add(-400 * 24 * time.Hour)}
	for name, text := range map[string]string{
		"Newest":   proposal,
		"Rare":     `kind == "Pod" && phase.startup > duration("30m")`,
		"Name":     `name == "web"`,
		"Without":  `outcome == "failed" && labels["app.kubernetes.io/name"] == "web"`,
		"Workload": `workload == "Deployment/web" && size(images) == 2`,
	} {
		b.Run(name, func(b *testing.B) {
			q := all
			q.Where = parse(b, text)
			plan, err := s.Plan(b.Context(), q)
			must(b, err)
			b.Log(plan)
			for b.Loop() {
				page, err := s.Find(b.Context(), q)
				must(b, err)
				b.ReportMetric(float64(len(page.Lifecycles)), "lifecycles")
			}
		})
	}
	b.Run("NewestTraces", func(b *testing.B) {
		q := all
		q.Where, q.Traces = parse(b, proposal), true
		for b.Loop() {
			_, err := s.Find(b.Context(), q)
			must(b, err)
		}
	})
	b.Run("CountOutcome", func(b *testing.B) {
		q := store.GroupQuery{FindQuery: all}
		q.Where = parse(b, `outcome == "converged" && volumes > 2`)
		for b.Loop() {
			page, err := s.Group(b.Context(), q)
			must(b, err)
			b.ReportMetric(float64(page.Groups[0].Count), "largest")
		}
	})
	for name, group := range map[string]store.GroupQuery{
		"Count":        {},
		"CountStartup": {Of: "phase.startup"},
		"Quantiles":    {By: "namespace", Of: "phase.startup", Quantiles: []float64{0.5, 0.9, 0.99}},
		"Days":         {By: "day", Of: "phase.startup", Quantiles: []float64{0.5, 0.9, 0.99}},
	} {
		b.Run(name, func(b *testing.B) {
			q := group
			q.FindQuery = all
			q.Where = parse(b, `kind == "Pod" && phase.startup > duration("15s")`)
			for b.Loop() {
				page, err := s.Group(b.Context(), q)
				must(b, err)
				b.ReportMetric(float64(page.Groups[0].Count), "largest")
			}
		})
	}
}
