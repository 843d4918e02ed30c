// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	shifts "github.com/kube-lifeline/lifeline/app/internal/shift"
	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

// slowdown returns a shift of a phase by its lengths in milliseconds.
func slowdown(workload, phase string, hours int, before, after int, of ...func(*shifts.Shift)) shifts.Shift {
	ms := func(n int) timestamp.Seconds { return timestamp.Seconds(time.Duration(n) * time.Millisecond) }
	s := shifts.Shift{
		Namespace: "shop", Workload: workload, Kind: "Pod", Verb: "create", Phase: phase,
		Since:  asked.Add(-time.Duration(hours) * time.Hour),
		Before: shifts.Side{Count: 41, Median: ms(before)}, After: shifts.Side{Count: 18, Median: ms(after)},
		Effect: ms(after - before), Low: ms((after - before) * 9 / 10), High: ms((after - before) * 12 / 10),
		Ratio: float64(after) / float64(before), P: 0.00004, Factors: []shifts.Factor{},
	}
	s.Faster = after < before
	for _, f := range of {
		f(&s)
	}
	s.ID = shifts.IDOf(&s)
	return s
}

func because(share float64, values ...shifts.Value) func(*shifts.Shift) {
	return func(s *shifts.Shift) {
		s.Factors = append(s.Factors, shifts.Factor{Values: values, Share: share, With: 14, Without: 61})
	}
}

func began(c *problem.Cause) func(*shifts.Shift) { return func(s *shifts.Shift) { s.Change = c } }

// release is the change that the samples began with.
var release = &problem.Cause{
	TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", Start: asked.Add(-50 * time.Hour), Who: "alice", Verb: "update",
	Object: &object.Ref{Kind: object.Kind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"},
	Edits:  []string{"image web:1 → web:2"},
}

func reported(all ...shifts.Shift) *shifts.Report {
	if all == nil {
		all = []shifts.Shift{}
	}
	return &shifts.Report{
		AsOf:    asked,
		Since:   asked.Add(-720 * time.Hour),
		Until:   asked,
		Series:  214,
		Samples: 8412,
		Least:   8,
		Shifts:  all,
	}
}

func TestRegressionsGolden(t *testing.T) {
	registry := because(0.92, shifts.Value{Attribute: "registry", Value: "quay.io"})
	node := because(0.88, shifts.Value{Attribute: "node", Value: "node-3"},
		shifts.Value{Attribute: "instance_type", Value: "m7i.large"})
	few := reported()
	few.Series, few.Samples, few.Short = 0, 0, 3
	none := reported()
	none.Series, none.Samples = 0, 0
	hostile := reported(slowdown("Deployment/web", "pull", 50, 1200, 4800, because(1, shifts.Value{
		Attribute: "image", Value: "evil\x1b[31m:1\n",
	})))
	hostile.Incomplete = "it is\x1b[2J hidden"
	detailed := slowdown("Deployment/web", "pull", 50, 1200, 4800, began(release), func(s *shifts.Shift) {
		s.Earlier = []shifts.Earlier{
			{Cause: *release, Relation: "workload"},
			{Cause: problem.Cause{
				TraceID: "00f067aa0ba902b7",
				Start:   asked.Add(-52 * time.Hour),
				Who:     "bob",
				Verb:    "update",
				Object: &object.Ref{
					Kind: object.Kind{Kind: "Node"},
					Name: "node-3",
				},
				Edits: []string{"label zone a → b"},
			}, Relation: "node node-3"},
		}
	})
	for name, tc := range map[string]struct {
		reason string
		output string
		of     Regressions
		report *shifts.Report
	}{
		"regressions": {"one cause of several phases and workloads", cli.OutputTable, Regressions{}, reported(
			slowdown("Deployment/web", "total", 50, 4000, 7600, began(release)),
			slowdown("Deployment/web", "pull", 50, 1200, 4800, began(release),
				because(0.97, shifts.Value{Attribute: "image", Value: "registry.example.com/shop/web:2"})),
			slowdown("Deployment/web", "startup", 50, 3400, 7100),
			slowdown("Deployment/cart", "pull", 3, 900, 1600, registry),
			slowdown("StatefulSet/db", "pull", 4, 1100, 2100, registry),
			slowdown("Deployment/a", "pull", 5, 1000, 1500, registry),
			slowdown("Deployment/b", "pull", 5, 1000, 1400, registry),
			slowdown("Deployment/c", "pull", 5, 1000, 1300, registry),
			slowdown("", "sandbox", 9, 300, 900, node, func(s *shifts.Shift) {
				s.Namespace, s.Attribute = "", &shifts.Value{Attribute: "node", Value: "node-3"}
			}),
			slowdown("", "total", 9, 300, 500, func(s *shifts.Shift) {
				s.Namespace, s.Kind = "data", "PersistentVolumeClaim"
			}),
		)},
		"regressions-namespace": {"names without theirs", cli.OutputTable, Regressions{Namespace: "shop"}, reported(
			slowdown("Deployment/web", "pull", 50, 1200, 4800, began(release)),
			slowdown("Job/import", "run", 50, 60_000, 150_000, func(s *shifts.Shift) { s.Verb = "update" }),
		)},
		"regressions-wide": {"each shift", OutputWide, Regressions{}, reported(
			slowdown("Deployment/web", "total", 50, 4000, 7600, began(release)),
			slowdown("Deployment/web", "pull", 50, 1200, 4800, began(release), registry),
		)},
		"regressions-all": {"also the others", cli.OutputTable, Regressions{Faster: true, Ended: true}, reported(
			slowdown("Deployment/web", "pull", 50, 4800, 1200),
			slowdown("Deployment/cart", "pull", 300, 1200, 4800, func(s *shifts.Shift) { s.Ended = true }),
		)},
		"regressions-of": {"what changed before it", cli.OutputTable, Regressions{
			Name: "deploy/web", Namespace: "shop",
		}, reported(detailed)},
		"regressions-of-none": {"nothing changed before it", cli.OutputTable, Regressions{
			Name: "deploy/web", Namespace: "shop",
		}, reported(slowdown("Deployment/web", "pull", 50, 1200, 4800))},
		"regressions-good": {"a good day", cli.OutputTable, Regressions{}, reported()},
		"regressions-few": {
			"too few samples", cli.OutputTable, Regressions{Name: "deploy/web", Namespace: "shop"}, few,
		},
		"regressions-nothing": {"no samples", cli.OutputTable, Regressions{}, none},
		"regressions-hostile": {"texts of a cluster", cli.OutputTable, Regressions{}, hostile},
		"regressions-json":    {"as the API has it", cli.OutputJSON, Regressions{}, reported(detailed)},
		"regressions-yaml":    {"as JSON", cli.OutputYAML, Regressions{}, reported()},
	} {
		t.Run(name, func(t *testing.T) {
			r := tc.of
			var out, log *outputText
			r.Options, out, log = asking(tc.output)
			if err := r.print(tc.report); err != nil {
				t.Fatal(err)
			}
			golden(t, name, tc.reason, "http://none", out, log)
		})
	}
}
