// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"net/url"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/shift"
)

// RegressionQuery selects the samples of a report, and its shifts. A zero field selects all.
type RegressionQuery struct {
	// Question selects the samples. Limit and After do not count. Without Since, it is 30 days.
	Question
	// Workload is the kind and the name, as in Deployment/web. The answer then has the changes before each shift.
	Workload string
	// Faster and Ended add the shifts that are not regressions now.
	Faster, Ended bool
}

// Regressions returns the report of what got slower.
func (c *Client) Regressions(ctx context.Context, q RegressionQuery) (*shift.Report, error) {
	q.Limit, q.After = 0, ""
	v := q.values()
	set(v, "workload", q.Workload)
	yes(v, "faster", q.Faster)
	yes(v, "past", q.Ended)
	out := &shift.Report{}
	return out, c.json(ctx, "regressions", v, out)
}

// Comparing are two things to compare: the traces A and B, or two questions, or one question before and after a time.
// Other fields are empty.
type Comparing struct {
	// A and B are IDs of traces, or their first digits.
	A, B string
	// Question is the first one, and And the second one. Limit and After do not count.
	Question
	And string
	// Before is the end of the first set, and From the begin of the second one. Change is the trace of a change, in
	// place of both.
	Before, From, Change string
}

// Compare returns the comparison.
func (c *Client) Compare(ctx context.Context, q Comparing) (*api.Comparison, error) {
	q.Limit, q.After = 0, ""
	v := q.values()
	set(v, "a", q.A)
	set(v, "b", q.B)
	set(v, "and", q.And)
	set(v, "before", q.Before)
	set(v, "after", q.From)
	set(v, "change", q.Change)
	out := &api.Comparison{}
	return out, c.json(ctx, "compare", v, out)
}

func yes(v url.Values, name string, on bool) {
	if on {
		v.Set(name, "true")
	}
}
