// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"

	"modernc.org/sqlite"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	questions "github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// The names of SQLite's functions over the data of a rollup.
const (
	// rollupPhase returns the length of a phase in nanoseconds, or NULL.
	rollupPhase = "lifeline_rollup_phase"
	// rollupJSON returns the attributes or the parts as JSON.
	rollupJSON = "lifeline_rollup_json"
)

// The second argument of rollupJSON.
const (
	ofAttributes = "attributes"
	ofParts      = "parts"
)

// rollupsView has one column for each phase.
func rollupsView() view {
	columns := []string{
		"trace", "lower(hex(r.trace))", "ID of the trace; it may be removed",
		"start", questions.Moment("r.start"), "start of the first lifecycle, in UTC",
		"start_ns", "r.start", "the same in nanoseconds since 1970; conditions on it can use an index",
		"namespace", "r.namespace", "namespace of the objects",
		"workload", "r.workload", "kind and name of their workload; empty without one",
		"api_group", "r.api_group", "API group of the objects",
		"kind", "r.kind", "kind of the objects",
		"object", "r.name", "name of a single object; empty for those of a workload",
		"verb", "r.verb", "verb of their first write",
		"heals", "r.heals", "cause of a change that the cluster made by itself; empty for others",
		"count", "r.count", "number of lifecycles",
		"duration", lengthOf(sample.Total), "median from the first write to the outcome, in seconds",
	}
	for _, p := range question.Phases() {
		columns = append(columns, "phase_"+p.Name, lengthOf(p.Name), "median of the phase, in seconds: "+p.Meaning)
	}
	columns = append(
		columns,
		"attributes", rollupJSON+"(r.data, '"+ofAttributes+"')",
		"what all lifecycles share, such as their image: a JSON object of arrays",
		"parts", rollupJSON+"(r.data, '"+ofParts+"')",
		"the lifecycles by what differs among them, such as the node: a JSON array of `count`, `phases` in seconds "+
			"and `attributes`",
	)
	// The condition reads a column: see lifecyclesView.
	return newView("v_rollups", "one row for the lifecycles of one workload, kind and verb in a finished trace, or of "+
		"one object without a workload; rows stay when their trace is removed",
		"rollups AS r WHERE r.count > 0", columns...)
}

func lengthOf(phase string) string {
	return questions.Seconds(rollupPhase + "(r.data, '" + phase + "')")
}

// registerRollups adds the functions to the driver.
func registerRollups() error {
	return errors.Join(
		onRollup(rollupPhase, func(r *store.Rollup, phase string) (driver.Value, error) {
			if d, is := r.Phases[phase]; is {
				return d.Nanoseconds(), nil
			}
			return nil, nil
		}),
		onRollup(rollupJSON, func(r *store.Rollup, what string) (driver.Value, error) {
			var v any = valuesOf(r.Attributes)
			if what == ofParts {
				parts := make([]viewedPart, len(r.Parts))
				for i, p := range r.Parts {
					parts[i] = viewedPart{p.Count, map[string]float64{}, valuesOf(p.Attributes)}
					for name, d := range p.Phases {
						parts[i].Phases[name] = d.Seconds()
					}
				}
				v = parts
			}
			data, err := json.Marshal(v)
			return string(data), err
		}),
	)
}

// viewedPart is a part in JSON.
type viewedPart struct {
	Count      int                 `json:"count"`
	Phases     map[string]float64  `json:"phases"`
	Attributes map[string][]string `json:"attributes"`
}

// valuesOf returns the values of attributes by name.
func valuesOf(all []sample.Attribute) map[string][]string {
	out := map[string][]string{}
	for _, a := range all {
		out[a.Name] = append(out[a.Name], a.Value)
	}
	return out
}

// onRollup registers a function of the data of a rollup and a text.
func onRollup(name string, of func(*store.Rollup, string) (driver.Value, error)) error {
	return sqlite.RegisterFunction(name, &sqlite.FunctionImpl{
		NArgs: 2, Deterministic: true, VolatileArgs: true,
		Scalar: func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			data, isData := args[0].([]byte)
			what, isText := args[1].(string)
			if !isData || !isText {
				return nil, fmt.Errorf("needs the data of a rollup and a text, not %T and %T", args[0], args[1])
			}
			var r store.Rollup
			if err := decodeRollup(data, &r, nil); err != nil {
				return nil, err
			}
			return of(&r, what)
		},
	})
}
