// SPDX-License-Identifier: Apache-2.0

package comparison_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/insight/comparison"
	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// rollout is a change whose pull and readiness have these ends, in milliseconds.
func rollout(image, node, author string, pulled, ready int) *span.Trace {
	b := spantest.New(image + node)
	root := b.Add(nil, "reconcile Deployment", "", spantest.Ref("apps", "Deployment", "web"), 0, ready+10)
	root.Attributes = append(root.Attributes, span.KeyActorUser.String(author),
		span.KeyEdits.StringSlice([]string{"image → " + image}))
	pod := b.Add(root, "reconcile Pod", "", spantest.Ref("", "Pod", "web-1"), 10, ready)
	pod.Attributes = append(pod.Attributes, span.KeyKubelet.String("v1.37."+node[1:]), span.KeyCPU.Int(250))
	pod.Facts = &span.Facts{Pod: &span.PodFacts{Images: []string{image}, Node: node, Zone: "z1"}}
	b.Add(pod, span.NamePull, "", object.Ref{}, 20, pulled, span.KeyImage.String(image))
	b.Add(pod, span.NameReadiness, "", object.Ref{}, pulled, ready)
	return b.Trace
}

func TestTraces(t *testing.T) {
	a, b := rollout("web:1", "n1", "alice", 1000, 1500), rollout("x.io/web:2", "n2", "alice", 3000, 3400)
	got := comparison.Traces(a, b, spantest.Epoch)
	const ms = time.Millisecond
	want := comparison.OfTraces{
		Total: comparison.Row{Name: "total", A: 1510 * ms, B: 3410 * ms, Difference: 1900 * ms},
		Rows: []comparison.Row{
			{Name: "pull", A: 980 * ms, B: 2980 * ms, Difference: 2000 * ms},
			{Name: "readiness", A: 500 * ms, B: 400 * ms, Difference: -100 * ms},
			{Name: "reconcile Deployment", A: 20 * ms, B: 20 * ms},
			{Name: "reconcile Pod", A: 10 * ms, B: 10 * ms},
		},
		Differs: []comparison.Circumstance{
			{Name: "changed", A: []string{"image → web:1"}, B: []string{"image → x.io/web:2"}},
			{Name: "image", A: []string{"web:1"}, B: []string{"x.io/web:2"}},
			{Name: "kubelet", A: []string{"v1.37.1"}, B: []string{"v1.37.2"}},
			{Name: "node", A: []string{"n1"}, B: []string{"n2"}},
			{Name: "registry", A: []string{"docker.io"}, B: []string{"x.io"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTracesAddUp compares random traces, even malformed ones.
func TestTracesAddUp(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		addUp(t, random(r), random(r))
	}
}

func FuzzTraces(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, x, y uint64) {
		r := rand.New(rand.NewPCG(x, y))
		addUp(t, random(r), random(r))
	})
}

func random(r *rand.Rand) *span.Trace {
	b := spantest.New("random")
	if r.IntN(20) == 0 {
		return b.Trace
	}
	names := []string{"reconcile Pod", span.NamePull, span.NameReadiness, span.NameCondition, "create Deployment", "x"}
	all := []*span.Span{b.Add(nil, "reconcile Deployment", "", object.Ref{}, r.IntN(100), r.IntN(5000)-1)}
	for range r.IntN(20) {
		s := b.Add(all[r.IntN(len(all))], names[r.IntN(len(names))], "", object.Ref{}, r.IntN(200), r.IntN(5000)-20)
		s.Start.Time = s.Start.Add(time.Duration(r.IntN(1e9)))
		all = append(all, s)
	}
	return b.Trace
}

func addUp(t *testing.T, a, b *span.Trace) {
	t.Helper()
	now := spantest.At(4000).Time
	got := comparison.Traces(a, b, now)
	var sum comparison.Row
	for _, row := range got.Rows {
		if row.Difference != row.B-row.A {
			t.Fatalf("%+v", row)
		}
		sum.A, sum.B, sum.Difference = sum.A+row.A, sum.B+row.B, sum.Difference+row.Difference
	}
	sum.Name = sample.Total
	if sum != got.Total {
		t.Fatalf("the rows add up to %+v, want %+v", sum, got.Total)
	}
	for of, total := range map[*span.Trace]time.Duration{a: got.Total.A, b: got.Total.B} {
		if root := of.Root(); root != nil && max(0, root.Duration(now)) != total {
			t.Fatalf("the total is %v, the root takes %v", total, root.Duration(now))
		}
	}
}

// pods returns lifecycles whose pulls take about pull, on random nodes.
func pods(r *rand.Rand, count int, pull time.Duration, image string) []sample.Lifecycle {
	out := make([]sample.Lifecycle, count)
	for i := range out {
		p := time.Duration(float64(pull) * math.Exp(0.2*r.NormFloat64()))
		ready := time.Duration(2e9 * math.Exp(0.2*r.NormFloat64()))
		out[i] = sample.Lifecycle{
			Phases: sample.Phases{"pull": p, "readiness": ready, sample.Total: p + ready + time.Second},
			Attributes: []sample.Attribute{
				{Name: sample.Image, Value: image},
				{Name: sample.Node, Value: fmt.Sprintf("n%d", r.IntN(5))},
			},
		}
	}
	return out
}

func TestSets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	a, b := pods(r, 100, 3*time.Second, "web:1"), pods(r, 80, 4*time.Second, "web:2")
	got := comparison.Sets(a, b)
	verdicts := map[string]comparison.Verdict{got.Total.Name: got.Total.Verdict}
	for _, row := range got.Rows {
		verdicts[row.Name] = row.Verdict
		if row.Low > row.Difference || row.High < row.Difference || row.A.Count != 100 || row.B.Count != 80 {
			t.Errorf("%+v", row)
		}
	}
	want := map[string]comparison.Verdict{
		"total": comparison.Slower, "pull": comparison.Slower, "readiness": comparison.NoDifference,
	}
	if diff := cmp.Diff(want, verdicts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if row := got.Rows[0]; row.Name != "pull" || row.Low > time.Second || row.High < time.Second {
		t.Errorf("the interval of the pull lacks the true second: %+v", row)
	}
	shares := []comparison.Share{
		{Attribute: sample.Attribute{Name: "image", Value: "web:1"}, A: 100},
		{Attribute: sample.Attribute{Name: "image", Value: "web:2"}, B: 80},
	}
	if diff := cmp.Diff(shares, got.Attributes); diff != "" {
		t.Errorf("attributes: -want +got:\n%s", diff)
	}
}

func TestSetsOfFew(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	got := comparison.Sets(pods(r, 7, time.Second, "web:1"), pods(r, 100, time.Minute, "web:1"))
	for _, row := range append(got.Rows, got.Total) {
		if row.Verdict != comparison.CannotTell || row.P != 1 {
			t.Errorf("%s: %s with seven samples, P %v", row.Name, row.Verdict, row.P)
		}
	}
}

// TestSetsByChance compares sets of one distribution.
func TestSetsByChance(t *testing.T) {
	wrong := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		got := comparison.Sets(pods(r, 30, time.Second, "web:1"), pods(r, 30, time.Second, "web:1"))
		for _, row := range append(got.Rows, got.Total) {
			if row.Verdict != comparison.NoDifference {
				wrong++
				break
			}
		}
	}
	if wrong > 8 {
		t.Errorf("%d of 300 comparisons without a difference show one; the level is %v", wrong, comparison.Level)
	}
}

// TestSetsProperties compares arbitrary sets.
func TestSetsProperties(t *testing.T) {
	for seed := range uint64(300) {
		properties(t, rand.New(rand.NewPCG(seed, 1)))
	}
}

func FuzzSets(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, x, y uint64) { properties(t, rand.New(rand.NewPCG(x, y))) })
}

func properties(t *testing.T, r *rand.Rand) {
	t.Helper()
	set := func() []sample.Lifecycle {
		out := make([]sample.Lifecycle, r.IntN(30))
		for i := range out {
			out[i].Phases = sample.Phases{}
			for _, name := range []string{"pull", "start", sample.Total} {
				switch r.IntN(5) {
				case 0:
				case 1:
					out[i].Phases[name] = time.Second
				case 2:
					out[i].Phases[name] = time.Duration(r.Int64()) - math.MaxInt64/2
				default:
					out[i].Phases[name] = time.Duration(r.IntN(1e9))
				}
			}
			if r.IntN(2) == 0 {
				out[i].Attributes = []sample.Attribute{{Name: sample.Image, Value: fmt.Sprint(r.IntN(3))}}
			}
		}
		return out
	}
	a, b := set(), set()
	got := comparison.Sets(a, b)
	sum := got.Rest
	for _, row := range got.Rows {
		sum.A, sum.B, sum.Difference = sum.A+row.A.Center, sum.B+row.B.Center, sum.Difference+row.Difference
	}
	if sum.A != got.Total.A.Center || sum.B != got.Total.B.Center || sum.Difference != got.Total.Difference {
		t.Fatalf("the rows add up to %+v, want %+v", sum, got.Total)
	}
	r.Shuffle(len(a), func(i, j int) { a[i], a[j] = a[j], a[i] })
	r.Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
	if diff := cmp.Diff(got, comparison.Sets(a, b)); diff != "" {
		t.Fatalf("another order gives another answer: -want +got:\n%s", diff)
	}
}

// BenchmarkSets compares two sets of 100,000 lifecycles with seven phases.
func BenchmarkSets(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	wide := func(pull time.Duration) []sample.Lifecycle {
		out := pods(r, 100_000, pull, "web:1")
		for i := range out {
			for _, name := range []string{"schedule", "sandbox", "start", "init"} {
				out[i].Phases[name] = time.Duration(r.IntN(1e9))
			}
		}
		return out
	}
	x, y := wide(time.Second), wide(1100*time.Millisecond)
	for b.Loop() {
		comparison.Sets(x, y)
	}
}
