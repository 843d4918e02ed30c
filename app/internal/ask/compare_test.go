// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"fmt"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
)

// phaseRow returns a row of sets by its medians in milliseconds.
func phaseRow(phase string, a, b, countA, countB int, verdict string) api.ComparedRow {
	ms := func(n int) api.Seconds { return api.Seconds(time.Duration(n) * time.Millisecond) }
	low, high := ms(b-a-100), ms(b-a+150)
	lowA, highA, lowB, highB := ms(a*9/10), ms(a*11/10), ms(b*9/10), ms(b*11/10)
	return api.ComparedRow{
		Phase: phase, Difference: ms(b - a), Low: &low, High: &high, Verdict: verdict, P: 0.00031,
		A: api.ComparedLength{Length: ms(a), Low: &lowA, High: &highA, Share: float64(a) / 3400, Count: countA},
		B: api.ComparedLength{Length: ms(b), Low: &lowB, High: &highB, Share: float64(b) / 7100, Count: countB},
	}
}

// comparedSets is a comparison of two sets with that many samples.
func comparedSets(a, b int, verdict string, differences ...api.Difference) *api.Comparison {
	before, after := asked.Add(-168*time.Hour), asked.Add(-50*time.Hour)
	rest := phaseRow("rest", 200, 300, a, b, "")
	rest.Low, rest.High, rest.P = nil, nil, 0
	out := &api.Comparison{
		Of: api.OfSets, Least: 8, Differences: differences,
		A: api.Compared{Where: `kind == "Pod"`, Count: a, Since: &before, Until: &after},
		B: api.Compared{Where: `kind == "Pod"`, Count: b, Since: &after},
		Rows: []api.ComparedRow{
			phaseRow("pull", 1200, 4800, a, b, verdict),
			phaseRow("readiness", 1800, 1782, a, b-1, api.VerdictSame),
			phaseRow(
				"init",
				0,
				18,
				0,
				3,
				api.VerdictUnknown,
			),
			phaseRow("sandbox", 200, 200, a, b, api.VerdictSame),
			rest,
		},
		Total: phaseRow("total", 3400, 7100, a, b, verdict),
	}
	return out
}

func values(of string, count int) []api.ValueCount {
	return []api.ValueCount{{Value: of, Count: count}}
}

func TestCompareGolden(t *testing.T) {
	differences := []api.Difference{
		{
			Attribute: "image",
			A:         values("registry.example.com/shop/web:1", 47),
			B:         values("registry.example.com/shop/web:2", 52),
		},
		{
			Attribute: "node",
			A:         nil,
			B: []api.ValueCount{
				{Value: "node-3", Count: 20},
				{Value: "node-4", Count: 18},
				{Value: "node-5", Count: 9},
			},
		},
		{Attribute: "instance_type", A: values("m7i.large", 40), B: values("m7i.large", 11)},
	}
	changed := comparedSets(47, 52, api.VerdictSlower, differences...)
	changed.Change = release
	more := comparedSets(100_000, 100_000, api.VerdictFaster)
	more.A.More, more.B.More = true, true
	one, two := api.Summary{
		TraceID: release.TraceID,
		Start:   release.Start,
		User:    "alice",
		Verb:    "update",
		Object:  release.Object,
		Edits:   release.Edits,
	}, api.Summary{
		TraceID: "00f067aa0ba902b700f067aa0ba902b7",
		Start:   asked,
		Command: "kubectl apply -f evil\x1b[31m.yaml",
		Open:    true,
	}
	row := func(phase string, a, b int) api.ComparedRow {
		r := phaseRow(phase, a, b, 1, 1, "")
		r.Low, r.High, r.P = nil, nil, 0
		return r
	}
	traces := &api.Comparison{
		Of: api.OfTraces,
		A:  api.Compared{Trace: &one, Count: 1},
		B:  api.Compared{Trace: &two, Count: 1},
		Rows: []api.ComparedRow{
			row("pull", 1200, 4800),
			row("readiness", 2000, 2100),
			row("reconcile Deployment", 200, 200),
		},
		Total:       row("total", 3400, 7100),
		Differences: differences[:1],
	}
	for name, tc := range map[string]struct {
		reason  string
		output  string
		compare Compare
		found   *api.Comparison
	}{
		"compare-sets": {"slower by more than chance", cli.OutputTable, Compare{
			Names: []string{"deploy/web"}, Namespace: "shop",
		}, changed},
		"compare-wide": {
			"with all numbers", OutputWide, Compare{Names: []string{"deploy/web"}, Namespace: "shop"}, changed,
		},
		"compare-same": {"no difference by more than chance", cli.OutputTable, Compare{
			Names: []string{"deploy/web", "deploy/api"}, Namespace: "shop",
		}, comparedSets(47, 52, api.VerdictSame)},
		"compare-few": {
			"it cannot tell", cli.OutputTable, Compare{Where: `kind == "Pod"`}, comparedSets(5, 52, api.VerdictUnknown),
		},
		"compare-more": {"not all were read", cli.OutputTable, Compare{Where: `kind == "Pod"`}, more},
		"compare-none": {"no samples", cli.OutputTable, Compare{Where: `kind == "Pod"`}, &api.Comparison{
			Of: api.OfSets, Least: 8, A: api.Compared{Where: `kind == "Pod"`}, B: api.Compared{Where: `kind == "Pod"`},
			Total: api.ComparedRow{Phase: "total", Verdict: api.VerdictUnknown},
		}},
		"compare-traces": {"two traces", cli.OutputTable, Compare{Namespace: "shop"}, traces},
		"compare-json":   {"as the API has it", cli.OutputJSON, Compare{}, traces},
		"compare-yaml":   {"as JSON", cli.OutputYAML, Compare{}, comparedSets(5, 52, api.VerdictUnknown)},
	} {
		t.Run(name, func(t *testing.T) {
			c := tc.compare
			var out, log *outputText
			c.Options, out, log = asking(tc.output)
			if err := c.print(tc.found); err != nil {
				t.Fatal(err)
			}
			golden(t, name, tc.reason, "http://none", out, log)
		})
	}
}

func TestCompareValidate(t *testing.T) {
	const id = "4bf92f35"
	for name, tc := range map[string]struct {
		compare Compare
		want    string
	}{
		"nothing": {
			Compare{},
			"nothing to compare: give two traces, two objects, one object, or a question with --where",
		},
		"two traces":    {Compare{Names: []string{id, "0AF76519"}}, ""},
		"two objects":   {Compare{Names: []string{"deploy/web", "deploy/api"}}, ""},
		"one object":    {Compare{Names: []string{"deploy/web"}}, ""},
		"a change":      {Compare{Names: []string{"deploy/web"}, Change: id}, ""},
		"a time":        {Compare{Where: "true", Before: "12:00"}, ""},
		"two questions": {Compare{Where: "true", And: "false"}, ""},
		"one trace": {
			Compare{Names: []string{id}},
			"a trace goes with another trace, and an object with another object: lifeline ls lists traces",
		},
		"a mixture": {
			Compare{Names: []string{id, "deploy/web"}},
			"a trace goes with another trace, and an object with another object: lifeline ls lists traces",
		},
		"a short ID": {
			Compare{Names: []string{"4bf9", id}},
			`"4bf9" is not KIND/NAME, and no trace ID of at least 8 digits`,
		},
		"one question": {
			Compare{Where: "true"},
			"nothing to compare with: give a second question with --and, or a time with --before and --after",
		},
		"the second only": {Compare{And: "true"}, "--and is the second question: --where gives the first one"},
		"names, questions": {
			Compare{Names: []string{"deploy/web"}, Where: "true"},
			"--where and --and are questions in place of names: give the ones or the others",
		},
		"two divisions": {
			Compare{Names: []string{"deploy/web"}, Change: id, Before: "12:00"},
			"--change is in place of --before and --after: give the one or the others",
		},
		"divided twice": {
			Compare{Names: []string{"deploy/web", "deploy/api"}, Before: "12:00"},
			"--before, --after and --change divide one object or question: give one name",
		},
		"no time": {
			Compare{Where: "true", Before: "noon"},
			`--before "noon": it must be a time, such as 12:00, "2026-03-01 12:00" or 2026-03-01T12:00:00Z, ` +
				"or a duration back " +
				"from now, such as 90m or 1d",
		},
		"the wrong order": {
			Compare{Where: "true", Before: "11:00", After: "10:00"},
			"--before 11:00 --after 10:00: the first set must end before the second one begins",
		},
		"times of traces": {
			Compare{Names: []string{id, id}, Since: "1d"},
			"--since and --until bound sets of lifecycles: two traces have none",
		},
	} {
		c := tc.compare
		c.Options, _, _ = asking(cli.OutputTable)
		got := ""
		if err := c.Validate(); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestClockTime(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 30, 0, 0, time.FixedZone("CET", 3600))
	for text, want := range map[string]string{
		"12:00": "2026-03-01T12:00:00+01:00", "12:45": "2026-02-28T12:45:00+01:00",
		"12:00:05":   "2026-03-01T12:00:05+01:00",
		"2026-02-03": "2026-02-03T00:00:00+01:00", "2026-02-03 04:05": "2026-02-03T04:05:00+01:00",
		"90m": "2026-03-01T11:00:00+01:00", "2026-03-01T12:00:00Z": "2026-03-01T12:00:00Z",
	} {
		got, err := clockTime("--before", text, now)
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s: %s %v, want %s", text, got.Format(time.RFC3339), err, want)
		}
	}
	if at, err := clockTime("--before", "", now); err != nil || !at.IsZero() {
		t.Error(at, err)
	}
}

func TestQuestionAbout(t *testing.T) {
	for of, want := range map[string]string{
		"Deployment": `kind == "Pod" && workload == "Deployment/web" && verb == "create" && namespace == "shop"`,
		"Widget":     `kind == "Widget" && name == "web" && namespace == "shop"`,
	} {
		o := *release.Object
		o.Kind.Kind = of
		if of == "Widget" {
			o.Group = "example.com"
		}
		if got := questionAbout(o); got != want {
			t.Errorf("%s: %s", fmt.Sprint(o), got)
		}
	}
}
