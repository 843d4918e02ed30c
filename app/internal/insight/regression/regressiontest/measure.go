// SPDX-License-Identifier: Apache-2.0

package regressiontest

import (
	"fmt"
	"io"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/insight/regression"
)

// Outcome is the result of one seed: a year with shifts and a year without any.
type Outcome struct {
	// Kinds are those of the planted shifts, and Results has the result of each.
	Kinds   []string
	Results []Result
	// Early is the result of one shift, of kind EarlyKind, by the rollups up to its sample number Few. It is nil for
	// a drift, and for a shift with fewer samples.
	Early     *Result
	EarlyKind string
	// Reported is the number of regressions in the year with shifts, without those that became faster or ended.
	Reported int
	// Alarms is the number of regressions in the year without shifts, in all directions. WorkloadWeeks is its size.
	Alarms, WorkloadWeeks, Lifecycles int
}

// Measure makes both years of a seed, and looks for regressions.
func Measure(seed uint64) Outcome {
	y := Make(seed, true)
	report := regression.Find(slices.Values(y.Rollups), regression.Options{})
	out := Outcome{WorkloadWeeks: y.WorkloadWeeks, Lifecycles: y.Lifecycles}
	for i := range y.Planted {
		out.Kinds = append(out.Kinds, y.Planted[i].Kind)
		out.Results = append(out.Results, y.Judge(&y.Planted[i], report))
	}
	for _, r := range report.Regressions {
		if !r.Faster && !r.Ended {
			out.Reported++
		}
	}
	p := &y.Planted[int(7*seed%uint64(len(y.Planted)))] //nolint:gosec // a remainder of 30
	if until, enough := y.Cut(p); enough && p.Kind != Drift {
		early := y.Judge(p, regression.Find(slices.Values(until), regression.Options{}))
		out.Early, out.EarlyKind = &early, p.Kind
	}
	quiet := Make(seed, false)
	out.Alarms = len(regression.Find(slices.Values(quiet.Rollups), regression.Options{}).Regressions)
	return out
}

// Tally counts results.
type Tally struct {
	Planted, Found, First, Named, Ended, Drift int
	Early, EarlyFound                          int
}

// Tallies returns the counts of each kind, and those of all kinds under "".
func Tallies(outcomes []Outcome) map[string]Tally {
	out := map[string]Tally{}
	for _, o := range outcomes {
		for i, r := range o.Results {
			for _, kind := range []string{o.Kinds[i], ""} {
				t := out[kind]
				t.Planted++
				t.Found += number(r.Found)
				t.First += number(r.First)
				t.Named += number(r.Named)
				t.Ended += number(r.Ended)
				t.Drift += number(r.Drift)
				out[kind] = t
			}
		}
		if o.Early != nil {
			for _, kind := range []string{o.EarlyKind, ""} {
				t := out[kind]
				t.Early++
				t.EarlyFound += number(o.Early.Found)
				out[kind] = t
			}
		}
	}
	return out
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Table writes the rates in Markdown.
func Table(w io.Writer, outcomes []Outcome) {
	tallies := Tallies(outcomes)
	fmt.Fprintf(w, "Years: %d with 30 shifts each, and %d without any.\n\n", len(outcomes), len(outcomes))
	fmt.Fprintln(w, "| shift | planted | found | found within 20 samples | true cause first | "+
		"change named | known as ended | known as drift |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, kind := range append(slices.Clone(Kinds), "") {
		t, name, cause := tallies[kind], kind, tallies[kind].Found
		if kind == "" {
			name, cause = "all", t.Found-tallies[Drift].Found
		}
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s | %s | %s |\n", name, t.Planted, rate(t.Found, t.Planted),
			rate(t.EarlyFound, t.Early), only(kind != Drift, rate(t.First, cause)),
			only(kind == Image || kind == Two || kind == Gone, rate(t.Named, t.Found)),
			only(kind == Node || kind == Zone || kind == Registry || kind == Gone, rate(t.Ended, t.Found)),
			only(kind == Drift, rate(t.Drift, t.Found)))
	}
	alarms, weeks, lifecycles, reported := 0, 0, 0, 0
	for _, o := range outcomes {
		alarms, weeks = alarms+o.Alarms, weeks+o.WorkloadWeeks
		lifecycles, reported = lifecycles+o.Lifecycles, reported+o.Reported
	}
	fmt.Fprintf(w, "\nFalse alarms in the years without shifts: %d in %d workload-weeks, or %.3f in 1,000.\n",
		alarms, weeks, 1000*float64(alarms)/float64(max(weeks, 1)))
	fmt.Fprintf(w, "A year with shifts has %d objects on average, and %.1f slower series at its end, before those "+
		"with one cause are grouped.\n",
		lifecycles/max(len(outcomes), 1), float64(reported)/float64(max(len(outcomes), 1)))
}

func only(shown bool, text string) string {
	if shown {
		return text
	}
	return ""
}

func rate(part, all int) string {
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %% of %d", 100*float64(part)/float64(all), all)
}
