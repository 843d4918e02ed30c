// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/shift"
	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

// slow returns a shift of the pulls of a Deployment of the namespace shop.
func slow(name string, since time.Time, of ...func(*shift.Shift)) shift.Shift {
	s := shift.Shift{
		Namespace: "shop", Workload: "Deployment/" + name, Kind: "Pod", Phase: "pull", Since: since,
		Before: shift.Side{Count: 41, Median: timestamp.Seconds(1200 * time.Millisecond)},
		After:  shift.Side{Count: 18, Median: timestamp.Seconds(4800 * time.Millisecond)},
		Effect: timestamp.Seconds(3600 * time.Millisecond), Low: timestamp.Seconds(3100 * time.Millisecond),
		High: timestamp.Seconds(4200 * time.Millisecond), Ratio: 4, P: 0.0001, Factors: []shift.Factor{},
	}
	for _, f := range of {
		f(&s)
	}
	s.ID = shift.IDOf(&s)
	return s
}

func gone(s *shift.Shift) { s.Ended = true }

func quick(s *shift.Shift) { s.Faster = true }

func registry(s *shift.Shift) {
	s.Factors = []shift.Factor{{
		Values: []shift.Value{{Attribute: "registry", Value: "quay.io"}}, Share: 0.92, With: 14, Without: 61,
	}}
}

func report(all ...shift.Shift) *shift.Report { return &shift.Report{AsOf: epoch, Shifts: all} }

// dueSlower returns the new notices for the first receiver, as "started web".
func dueSlower(b *Board, known *int) string {
	var out []string
	for _, e := range b.receivers[0].queue.all[*known:] {
		_, typ, _ := strings.Cut(e.Type.Short(), ".")
		out = append(out, typ+" "+e.Object.Name)
	}
	*known = len(b.receivers[0].queue.all)
	return strings.Join(out, ", ")
}

func TestRegressions(t *testing.T) {
	hours := func(n int) time.Time { return at(3600 * n) }
	type step struct {
		at      int // hours
		report  *shift.Report
		want    string
		restart bool
	}
	incomplete := report()
	incomplete.Incomplete = "too many samples"
	for name, steps := range map[string][]step{
		"once, and when it is gone": {
			{at: 2, report: report(slow("web", hours(1))), want: "started web"},
			{at: 3, report: report(slow("web", hours(1)))},
			{at: 4, report: report(slow("web", hours(2)))}, // the best split has moved
			{at: 5, report: report(slow("web", hours(1), gone)), want: "ended web"},
			{at: 6, report: report(slow("web", hours(1), gone))},
		},
		"no report": {{at: 2, report: report(slow("web", hours(1))), want: "started web"}, {at: 9}},
		"missing for a moment": {
			{at: 2, report: report(slow("web", hours(1))), want: "started web"},
			{at: 3, report: report()}, {at: 4, report: report(slow("web", hours(1)))}, {at: 5, report: report()},
			{at: 6, report: report(), want: "ended web"},
		},
		"an incomplete report ends nothing": {
			{at: 2, report: report(slow("web", hours(1))), want: "started web"},
			{at: 4, report: incomplete}, {at: 9, report: incomplete},
		},
		"slower again": {
			{at: 2, report: report(slow("web", hours(1))), want: "started web"},
			{at: 9, report: report(slow("web", hours(8))), want: "ended web, started web"},
		},
		"one cause of several": {
			{
				at: 2, report: report(slow("web", hours(1), registry), slow("api", hours(1), registry)),
				want: "started api",
			},
			{at: 3, report: report(slow("web", hours(1), registry), slow("db", hours(2), registry))},
			{at: 4, report: report(slow("db", hours(2), registry))},
			{at: 5, report: report(slow("db", hours(2), registry, gone)), want: "ended api"},
		},
		"faster, and over before its notice": {
			{at: 2, report: report(slow("web", hours(1), quick), slow("api", hours(1), gone))},
		},
		"a restart": {
			{at: 2, report: report(slow("web", hours(1))), want: "started web"},
			{at: 3, restart: true}, {at: 4, report: report(slow("web", hours(1)))},
			{at: 5, restart: true}, {at: 6, report: report(slow("web", hours(1), gone)), want: "ended web"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, known := newBoard(t, everything(), nil), 0
			for _, s := range steps {
				if s.restart {
					data, _, err := b.State()
					must(t, err)
					b = newBoard(t, everything(), data)
				}
				if s.report != nil {
					b.Report(s.report)
					if !b.Due(hours(s.at)) {
						t.Errorf("no look is due at %d", s.at)
					}
				}
				b.Look(hours(s.at), list(), nil, false)
				if got := dueSlower(b, &known); got != s.want {
					t.Errorf("at %d: got %q, want %q", s.at, got, s.want)
				}
			}
		})
	}
}

// TestRegressionsSelected: a receiver gets notices about its namespaces and types, and another server's are silent.
func TestRegressionsSelected(t *testing.T) {
	for name, tc := range map[string]struct {
		receiver Receiver
		silent   bool
		want     int
	}{
		"all":             {Receiver{Types: Types()}, false, 1},
		"another":         {Receiver{Types: Types(), Namespaces: []string{"data"}}, false, 0},
		"its own":         {Receiver{Types: Types(), Namespaces: []string{"shop"}}, false, 1},
		"problems":        {Receiver{Types: []Type{Started, Resolved}}, false, 0},
		"only their ends": {Receiver{Types: []Type{SlowerEnded}}, false, 1},
		"silent":          {Receiver{Types: Types()}, true, 0},
	} {
		tc.receiver.Name = "r"
		b := newBoard(t, []Receiver{tc.receiver}, nil)
		for _, r := range []*shift.Report{report(slow("web", epoch)), report(slow("web", epoch, gone))} {
			b.Report(r)
			b.Look(at(60), list(), nil, tc.silent)
			if name != "only their ends" {
				break
			}
		}
		if got := len(b.receivers[0].queue.all); got != tc.want {
			t.Errorf("%s: %d notices, want %d", name, got, tc.want)
		}
	}
}

// regressionExample is a notice with hostile texts.
func regressionExample() *Notice {
	s := slow("web<!channel>", epoch, registry)
	s.Effect *= 2
	s.Change = &problem.Cause{
		TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", Start: epoch, Who: "alice", Verb: "update",
		Object: &object.Ref{Kind: object.Kind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"},
		Edits:  []string{"image web:1 → web:2\x1b[31m"},
	}
	groups := shift.Groups(report(s, slow("api", epoch, registry)))
	n := aboutSlower(&groups[0], at(600))
	return &n
}

func TestRegressionPayloads(t *testing.T) {
	started := regressionExample()
	over := *started
	over.ID, over.Type, over.Next = over.Regression+"/ended", SlowerEnded, ""
	o := &origin{cluster: "c1", page: "https://lifeline.example/", key: routingKey}
	for name, n := range map[string]*Notice{"slower": started, "slower-ended": &over} {
		for _, f := range []Format{CloudEvents, Slack, PagerDuty, Alertmanager} {
			body, _, err := encode(f, n, o)
			must(t, err)
			var text bytes.Buffer
			must(t, json.Indent(&text, body, "", "  "))
			text.WriteByte('\n')
			golden(t, filepath.Join("testdata", string(f)+"-"+name+".json"), text.String())
			if strings.Contains(string(body), `\u001b`) {
				t.Errorf("%s of %s has a control character", f, name)
			}
		}
	}
}

func TestCountRegressions(t *testing.T) {
	c := &Counts{}
	got := map[Labels]int64{}
	read := func() map[Labels]int64 {
		clear(got)
		c.EachRegression(func(l Labels, n int64) { got[l] = n })
		return got
	}
	if len(read()) != 0 {
		t.Error(got)
	}
	c.Report(report(slow("web", epoch), slow("api", epoch), slow("db", epoch, gone), slow("x", epoch, quick)))
	if diff := cmp.Diff(map[Labels]int64{{"Pod", "pull", "shop"}: 2}, read()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var many []shift.Shift
	for i := range maxPairs + 5 {
		many = append(many, slow("web", epoch, func(s *shift.Shift) { s.Namespace = time.Duration(i).String() }))
	}
	c.Report(report(many...))
	if read(); len(got) != maxPairs+1 || got[Labels{Other, "pull", Other}] != 5 {
		t.Errorf("%d labels, %d others", len(got), got[Labels{Other, "pull", Other}])
	}
	c.Report(nil)
	if len(read()) != 0 {
		t.Error(got)
	}
}
