// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight/regression"
	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// slower returns a shift of pulls by an effect in seconds.
func slower(workload, phase string, effect int, of ...func(*Shift)) Shift {
	s := Shift{
		Namespace: "shop", Workload: workload, Kind: "Pod", Phase: phase, Since: noon,
		Effect: timestamp.Seconds(time.Duration(effect) * time.Second), Ratio: 2,
	}
	for _, f := range of {
		f(&s)
	}
	s.ID = IDOf(&s)
	return s
}

func with(values ...Value) func(*Shift) {
	return func(s *Shift) { s.Factors = append(s.Factors, Factor{Values: values}) }
}

func by(id string) func(*Shift) { return func(s *Shift) { s.Change = &problem.Cause{TraceID: id} } }

func TestGroups(t *testing.T) {
	node, zone := Value{"node", "n3"}, Value{"zone", "b"}
	alice := Value{"author", "alice"}
	ended := func(s *Shift) { s.Ended = true }
	ofNode := func(s *Shift) { s.Namespace, s.Attribute = "", &node }
	for name, tc := range map[string]struct {
		shifts []Shift
		want   [][]string
	}{
		"none": {nil, nil},
		"the special phase leads": {
			[]Shift{
				slower("Deployment/web", "total", 5), slower("Deployment/web", "pull", 4),
				slower("Deployment/web", "startup", 5),
			},
			[][]string{{"Deployment/web pull", "Deployment/web startup", "Deployment/web total"}},
		},
		"a small part does not lead": {
			[]Shift{slower("Deployment/web", "total", 9), slower("Deployment/web", "pull", 2)},
			[][]string{{"Deployment/web total", "Deployment/web pull"}},
		},
		"two causes of one workload": {
			[]Shift{
				slower("Deployment/web", "pull", 4, by("x")),
				slower("Deployment/web", "readiness", 9, func(s *Shift) { s.Since = noon.Add(99 * time.Hour) }),
			},
			[][]string{{"Deployment/web readiness"}, {"Deployment/web pull"}},
		},
		"a Deployment with its Pods": {
			[]Shift{
				slower("Deployment/web", "pull", 4),
				slower("Deployment/web", "total", 12, func(s *Shift) { s.Kind = "Deployment" }),
			},
			[][]string{{"Deployment/web pull", "Deployment/web total"}},
		},
		"other causes": {
			[]Shift{slower("Deployment/a", "pull", 1, with(Value{"image", "a"})), slower("Deployment/b", "pull", 2)},
			[][]string{{"Deployment/b pull"}, {"Deployment/a pull"}},
		},
		"one change": {
			[]Shift{slower("Deployment/a", "pull", 1, by("x")), slower("Deployment/b", "pull", 2, by("x"))},
			[][]string{{"Deployment/b pull", "Deployment/a pull"}},
		},
		"one factor, also beside others": {
			[]Shift{
				slower("Deployment/a", "pull", 1, with(zone)), slower("Deployment/c", "pull", 3, with(node)),
				slower("Deployment/b", "pull", 2, with(node, zone)), slower("Deployment/b", "total", 2),
			},
			[][]string{{"Deployment/c pull", "Deployment/b pull", "Deployment/a pull", "Deployment/b total"}},
		},
		"the node itself leads": {
			[]Shift{slower("Deployment/a", "pull", 9, with(node)), slower("", "pull", 1, ofNode)},
			[][]string{{" pull", "Deployment/a pull"}},
		},
		"nodes and zones at one time": {
			[]Shift{
				slower("", "pull", 9, ofNode), slower("", "pull", 2, func(s *Shift) { s.Attribute = &zone }),
				slower("", "pull", 1, func(s *Shift) {
					s.Attribute, s.Since = &Value{"zone", "c"}, noon.Add(99*time.Hour)
				}),
			},
			[][]string{{" pull", " pull"}, {" pull"}},
		},
		"an author is no common cause": {
			[]Shift{slower("Deployment/a", "pull", 1, with(alice)), slower("Deployment/b", "pull", 2, with(alice))},
			[][]string{{"Deployment/b pull"}, {"Deployment/a pull"}},
		},
		"what has ended is another matter": {
			[]Shift{slower("Deployment/a", "pull", 1, by("x")), slower("Deployment/b", "pull", 2, by("x"), ended)},
			[][]string{{"Deployment/b pull"}, {"Deployment/a pull"}},
		},
		"many small ones are worse": {
			[]Shift{
				slower("Deployment/a", "pull", 3), slower("Deployment/b", "pull", 2, by("x")),
				slower("Deployment/c", "pull", 2, by("x")),
			},
			[][]string{{"Deployment/b pull", "Deployment/c pull"}, {"Deployment/a pull"}},
		},
	} {
		var got [][]string
		for _, g := range Groups(&Report{Shifts: tc.shifts}) {
			var names []string
			for _, s := range g.All() {
				names = append(names, s.Workload+" "+s.Phase)
			}
			got = append(got, names)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestOf(t *testing.T) {
	id := trace.TraceID{1}
	got := Of(&regression.Report{Series: 3, Samples: 40, Regressions: []regression.Regression{
		{
			Series: regression.Series{
				Kind:      "Pod",
				Phase:     "pull",
				Attribute: sample.Attribute{Name: "node", Value: "n3"},
			},
			Effect: time.Second,
		},
		{
			Series: regression.Series{
				Namespace: "shop",
				Workload:  "Deployment/web",
				Kind:      "Pod",
				Verb:      "create",
				Phase:     "pull",
			},
			Since:  noon,
			Until:  noon.Add(time.Hour),
			Ended:  true,
			Change: id,
			Ratio:  4,
			P:      0.001,
			Before: regression.Side{
				Count:  41,
				Median: time.Second,
			},
			After:  regression.Side{Count: 18, Median: 4 * time.Second},
			Effect: 3 * time.Second,
			Low:    2 * time.Second,
			High:   4 * time.Second,
			Factors: []regression.Factor{
				{Values: []sample.Attribute{{Name: "image", Value: "web:2"}}, Share: 1, With: 18, New: true},
			},
		},
	}}, noon, noon, noon)
	const second = timestamp.Seconds(time.Second)
	until := noon.Add(time.Hour)
	want := []Shift{
		{
			Namespace: "shop",
			Workload:  "Deployment/web",
			Kind:      "Pod",
			Verb:      "create",
			Phase:     "pull",
			Since:     noon,
			Until:     &until,
			Ended:     true,
			Change:    &problem.Cause{TraceID: id.String()},
			Ratio:     4,
			P:         0.001,
			Effect:    3 * second,
			Low:       2 * second,
			High:      4 * second,
			Before:    Side{41, second},
			After:     Side{18, 4 * second},
			Factors:   []Factor{{Values: []Value{{"image", "web:2"}}, Share: 1, With: 18, New: true}},
		},
		{Kind: "Pod", Phase: "pull", Attribute: &Value{"node", "n3"}, Effect: second, Factors: []Factor{}},
	}
	for i := range want {
		want[i].ID = IDOf(&want[i])
	}
	if diff := cmp.Diff(want, got.Shifts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTitles(t *testing.T) {
	for want, got := range map[string]string{
		"Jobs in shop: total":                      titled("Job", "", ""),
		"CronJob shop/x: run of its Pods (delete)": titled("Pod", "CronJob/x", "delete"),
		"Deployment shop/web: total (update)":      titled("Deployment", "Deployment/web", "update"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func titled(kind, workload, verb string) string {
	phase := "total"
	if kind == "Pod" {
		phase = "run"
	}
	s := slower(workload, phase, 1)
	s.Kind, s.Verb = kind, verb
	return s.Of("")
}
