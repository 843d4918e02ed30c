// SPDX-License-Identifier: Apache-2.0

package regression_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight/regression"
	"github.com/kube-lifeline/lifeline/app/internal/insight/regression/regressiontest"
	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// rollouts returns one rollout of three Pods a day, on three nodes. Each has its own image. Edit changes a Pod.
func rollouts(name string, days int, edit func(day, pod int, l *sample.Lifecycle)) []sample.Rollup {
	r := rand.New(rand.NewPCG(uint64(len(name)), uint64(name[0])))
	var out []sample.Rollup
	for day := range days {
		of := sample.Rollup{
			Cluster: "blue", Namespace: "shop", Workload: "Deployment/" + name, Kind: "Pod", Verb: "create",
			Trace: traceOf(name, day),
		}
		pods := make([]sample.Lifecycle, 3)
		for i := range pods {
			pods[i] = sample.Lifecycle{
				Start:  epoch.Add(time.Duration(day) * 24 * time.Hour),
				Phases: sample.Phases{"pull": time.Duration(2e9 * math.Exp(0.1*r.NormFloat64()))},
				Attributes: []sample.Attribute{
					{Name: sample.Image, Value: fmt.Sprintf("x.io/%s:%d", name, day)},
					{Name: sample.Node, Value: fmt.Sprintf("n%d", (day+i)%5)},
				},
			}
			if edit != nil {
				edit(day, i, &pods[i])
			}
		}
		out = append(out, sample.Roll(of, pods))
	}
	return out
}

func traceOf(name string, day int) trace.TraceID { return trace.TraceID{name[0], byte(day), 1} }

func find(rollups []sample.Rollup) regression.Report {
	slices.SortStableFunc(rollups, func(a, b sample.Rollup) int { return a.Start.Compare(b.Start) })
	return regression.Find(slices.Values(rollups), regression.Options{})
}

func slower(l *sample.Lifecycle) { l.Phases["pull"] *= 2 }

// TestStories finds one shift among five workloads, and its cause.
func TestStories(t *testing.T) {
	others := func(edit func(day, pod int, l *sample.Lifecycle)) (out []sample.Rollup) {
		for _, name := range []string{"api", "cart", "db", "edge"} {
			out = append(out, rollouts(name, 60, edit)...)
		}
		return out
	}
	// short says what a regression is, without numbers.
	type short struct {
		Workload  string
		Attribute sample.Attribute
		Since     int // the day
		Ended     bool
		Factors   [][]sample.Attribute
		Change    bool
	}
	image := func(day int) sample.Attribute {
		return sample.Attribute{Name: sample.Image, Value: fmt.Sprintf("x.io/web:%d", day)}
	}
	cases := map[string]struct {
		reason string
		have   []sample.Rollup
		want   []short
	}{
		"none": {reason: "chance makes no regression", have: append(others(nil), rollouts("web", 60, nil)...)},
		"slower image": {
			reason: "the first slow image is the cause, and its change is named; the later images inherit it",
			have: append(others(nil), rollouts("web", 60, func(day, _ int, l *sample.Lifecycle) {
				if day >= 40 {
					slower(l)
				}
			})...),
			want: []short{{
				Workload: "Deployment/web", Since: 40, Factors: [][]sample.Attribute{{image(40)}}, Change: true,
			}},
		},
		"two at once": {
			reason: "values that begin together cannot be told apart",
			have: append(others(nil), rollouts("web", 60, func(day, _ int, l *sample.Lifecycle) {
				cpu := "1"
				if day >= 40 {
					slower(l)
					cpu = "2"
				}
				l.Attributes = append(l.Attributes, sample.Attribute{Name: sample.Requests, Value: cpu})
			})...),
			want: []short{{
				Workload: "Deployment/web", Since: 40, Change: true,
				Factors: [][]sample.Attribute{{image(40), {Name: sample.Requests, Value: "2"}}},
			}},
		},
		"went away": {
			reason: "a shift that has ended is history",
			have: append(others(nil), rollouts("web", 60, func(day, _ int, l *sample.Lifecycle) {
				if day >= 20 && day < 40 {
					slower(l)
				}
			})...),
			want: []short{{
				Workload: "Deployment/web", Since: 20, Ended: true, Change: true,
				Factors: [][]sample.Attribute{{image(20)}},
			}},
		},
		"slow node": {
			reason: "a node that slows some Pods of each rollout is in no median, and has a series of its own",
			have: others(func(day, _ int, l *sample.Lifecycle) {
				if day >= 30 && slices.Contains(l.Attributes, sample.Attribute{Name: sample.Node, Value: "n3"}) {
					slower(l)
				}
			}),
			want: []short{{
				Attribute: sample.Attribute{Name: sample.Node, Value: "n3"}, Since: 31, // no Pod is on it on day 30
				Factors: [][]sample.Attribute{{{Name: sample.Node, Value: "n3"}}},
			}},
		},
		"all at once": {
			reason: "nothing differs between slow and fast workloads: no cause",
			have: rollouts("web", 60, func(day, _ int, l *sample.Lifecycle) {
				l.Attributes = l.Attributes[1:] // the image stays
				if day >= 40 {
					slower(l)
				}
			}),
			want: []short{{Workload: "Deployment/web", Since: 40}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []short
			for _, r := range find(tc.have).Regressions {
				s := short{
					Workload: r.Series.Workload, Attribute: r.Series.Attribute, Ended: r.Ended,
					Since: int(r.Since.Sub(epoch).Hours()) / 24, Change: r.Change.IsValid(),
				}
				for _, f := range r.Factors {
					s.Factors = append(s.Factors, f.Values)
				}
				got = append(got, s)
				if r.Change.IsValid() && r.Change != traceOf("web", s.Since) {
					t.Errorf("%s: the change is %v", tc.reason, r.Change)
				}
				if r.Faster || r.Low > r.Effect || r.High < r.Effect || r.Low <= 0 || math.Abs(r.Ratio-2) > 0.3 ||
					r.Before.Count == 0 || r.After.Count == 0 {
					t.Errorf("%s: %+v", tc.reason, r)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFew finds nothing in too few samples.
func TestFew(t *testing.T) {
	slow := func(from int) func(day, _ int, l *sample.Lifecycle) {
		return func(day, _ int, l *sample.Lifecycle) {
			if day >= from {
				l.Phases["pull"] *= 100
			}
		}
	}
	for name, tc := range map[string]struct {
		days, from int
		found      bool
	}{
		"seven before":    {15, 7, false},
		"three after":     {63, 60, false},
		"twelve on sides": {24, 12, true},
	} {
		if got := find(rollouts("web", tc.days, slow(tc.from))).Regressions; len(got) > 0 != tc.found {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestYears measures one synthetic year with 30 shifts, and years without any.
func TestYears(t *testing.T) {
	years := 3
	if testing.Short() {
		years = 1
	}
	var all []regressiontest.Outcome
	for seed := range years {
		all = append(all, regressiontest.Measure(uint64(1000+seed)))
	}
	total := regressiontest.Tallies(all)[""]
	t.Logf("%+v", total)
	drifts := regressiontest.Tallies(all)[regressiontest.Drift].Found
	if 100*total.Found < 85*total.Planted || 100*total.First < 80*(total.Found-drifts) {
		t.Errorf("%d of %d shifts found, %d with the true cause first", total.Found, total.Planted, total.First)
	}
	for i, o := range all {
		if o.Alarms > 0 {
			t.Errorf("year %d without shifts: %d alarms", i, o.Alarms)
		}
	}
}

// TestProperties looks for regressions in arbitrary rollups.
func TestProperties(t *testing.T) {
	for seed := range uint64(60) {
		properties(t, seed, 1)
	}
}

func FuzzFind(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(properties)
}

func properties(t *testing.T, a, b uint64) {
	r := rand.New(rand.NewPCG(a, b))
	shift := time.Duration(r.IntN(3)) * time.Minute
	var rollups []sample.Rollup
	for i := range r.IntN(400) {
		of := sample.Rollup{
			Workload: []string{"Deployment/a", "Job/x", ""}[r.IntN(3)], Kind: "Pod",
			Trace: trace.TraceID{byte(r.IntN(50))}, Heals: r.IntN(4) == 0,
		}
		pods := make([]sample.Lifecycle, r.IntN(6))
		for j := range pods {
			d := time.Duration(r.IntN(1e9))
			switch r.IntN(20) {
			case 0:
				d = math.MaxInt64
			case 1:
				d = math.MinInt64
			case 2, 3, 4, 5:
				d = time.Second
			}
			if i > 200 && d > 0 && d < math.MaxInt64 {
				d += shift
			}
			pods[j] = sample.Lifecycle{Start: epoch.Add(time.Duration(i/3) * time.Hour), Phases: sample.Phases{}}
			for _, name := range []string{"pull", sample.Total} {
				if r.IntN(5) > 0 {
					pods[j].Phases[name] = d
				}
			}
			for _, name := range []string{sample.Image, sample.Kubelet, sample.Node} {
				if r.IntN(3) > 0 {
					value := fmt.Sprint(r.IntN(3))
					pods[j].Attributes = append(pods[j].Attributes, sample.Attribute{Name: name, Value: value})
				}
			}
		}
		rollups = append(rollups, sample.Roll(of, pods))
	}
	want := regression.Find(slices.Values(rollups), regression.Options{})
	for _, x := range want.Regressions {
		if math.IsNaN(x.Ratio) || math.IsInf(x.Ratio, 0) || math.IsNaN(x.P) || x.Low > x.High || x.Since.IsZero() {
			t.Fatalf("%+v", x)
		}
	}
	r.Shuffle(len(rollups), func(i, j int) { rollups[i], rollups[j] = rollups[j], rollups[i] })
	slices.SortStableFunc(rollups, func(a, b sample.Rollup) int { return a.Start.Compare(b.Start) })
	if diff := cmp.Diff(want, regression.Find(slices.Values(rollups), regression.Options{})); diff != "" {
		t.Fatalf("another order of equal starts gives another report: -want +got:\n%s", diff)
	}
}

// BenchmarkFind reads the rollups of about a million lifecycles.
func BenchmarkFind(b *testing.B) {
	var rollups []sample.Rollup
	lifecycles := 0
	for seed := uint64(1); lifecycles < 1_000_000; seed++ {
		y := regressiontest.Make(seed, true)
		for _, r := range y.Rollups {
			r.Namespace = fmt.Sprintf("%s-%d", r.Namespace, seed)
			rollups = append(rollups, r)
		}
		lifecycles += y.Lifecycles
	}
	slices.SortStableFunc(rollups, func(a, b sample.Rollup) int { return a.Start.Compare(b.Start) })
	for b.Loop() {
		find(rollups)
	}
	b.ReportMetric(float64(lifecycles), "lifecycles")
	b.ReportMetric(float64(len(rollups)), "rollups")
}
