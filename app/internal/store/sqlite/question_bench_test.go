// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// length parses an expression with a duration; "" is none.
func length(t testing.TB, text string) *question.Length {
	t.Helper()
	if text == "" {
		return nil
	}
	of, err := question.ParseLength(text)
	must(t, err)
	return of
}

// by returns the keys of groups, which commas separate.
func by(t testing.TB, texts string) []store.By {
	t.Helper()
	var out []store.By
	for text := range strings.SplitSeq(texts, ",") {
		if text == "" {
			continue
		}
		of, err := store.ParseBy(text)
		must(t, err)
		out = append(out, of)
	}
	return out
}

// betweenSteps is the time between two steps.
const betweenSteps = "ended.readiness - began.pull"

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
		"Steps":    `kind == "Pod" && ` + betweenSteps + ` > duration("30s")`,
		// It reads the steps of all Pods.
		"RareSteps": `kind == "Pod" && ` + betweenSteps + ` > duration("2h")`,
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
	for name, text := range map[string]string{
		"SortPull": "phase.pull", "SortVolumes": "volumes", "SortSteps": betweenSteps,
	} {
		b.Run(name, func(b *testing.B) {
			of, err := question.ParseNumber(text)
			must(b, err)
			q := all
			q.Sort, q.Limit = of, 20
			for b.Loop() {
				page, err := s.Find(b.Context(), q)
				must(b, err)
				b.ReportMetric(float64(len(page.Lifecycles)), "lifecycles")
			}
		})
	}
	b.Run("CountOutcome", func(b *testing.B) {
		q := store.GroupQuery{FindQuery: all}
		q.Where = parse(b, `outcome == "converged" && volumes > 2`)
		for b.Loop() {
			page, err := s.Group(b.Context(), q)
			must(b, err)
			b.ReportMetric(float64(page.Groups[0].Count), "largest")
		}
	})
	const startup, half = "phase.startup", `kind == "Pod" && phase.startup > duration("15s")`
	for name, tc := range map[string]struct {
		by, of, where string
		quantiles     bool
	}{
		"Count":        {where: half},
		"CountStartup": {where: half, of: startup},
		"Quantiles":    {where: half, by: "namespace", of: startup, quantiles: true},
		"Days":         {where: half, by: "day", of: startup, quantiles: true},
		"QuantilesSteps": {
			where: half, by: "namespace", of: betweenSteps, quantiles: true,
		},
		// It reads the steps of all Pods.
		"AllQuantilesSteps": {
			where: `kind == "Pod"`, by: "workload", of: betweenSteps, quantiles: true,
		},
		"ImageNode":  {where: `kind != ""`, by: "image,node", of: "phase.pull", quantiles: true},
		"AuthorWeek": {where: `kind != ""`, by: "author,week"},
		"FieldHour":  {where: `kind != ""`, by: "field,hour"},
	} {
		b.Run(name, func(b *testing.B) {
			q := store.GroupQuery{FindQuery: all, By: by(b, tc.by), Of: length(b, tc.of)}
			q.Where = parse(b, tc.where)
			if tc.quantiles {
				q.Quantiles = []float64{0.5, 0.9, 0.99}
			}
			for b.Loop() {
				page, err := s.Group(b.Context(), q)
				must(b, err)
				b.ReportMetric(float64(page.Groups[0].Count), "largest")
			}
		})
	}
}
