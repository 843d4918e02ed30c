// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Grouping makes the groups of lifecycles in memory. It keeps one number for each value of Of.
type Grouping struct {
	query  *GroupQuery
	groups map[string]*collected
}

// collected is a group so far. Only a count of changes has its traces.
type collected struct {
	values  []string
	traces  map[trace.TraceID]bool
	count   int64
	lengths []int64
}

// NewGrouping returns a Grouping without lifecycles, or the error of q.Validate.
func NewGrouping(q *GroupQuery) (*Grouping, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	return &Grouping{q, map[string]*collected{}}, nil
}

// Add counts a lifecycle in each of its groups. The caller selects.
func (g *Grouping) Add(l *Lifecycle) {
	length, is := time.Duration(0), false
	if g.query.Of != nil {
		length, is = g.query.Of.Of(&l.Lifecycle, g.query.Now)
	}
	for _, values := range g.query.Keys(l, "") {
		group := g.group(values)
		group.count++
		if is {
			group.lengths = append(group.lengths, length.Nanoseconds())
		}
	}
}

// AddChange counts the trace of a lifecycle once in each of its groups. The caller selects.
func (g *Grouping) AddChange(l *Lifecycle, of span.State) {
	for _, values := range g.query.Keys(l, of) {
		group := g.group(values)
		if group.traces == nil {
			group.traces = map[trace.TraceID]bool{}
		}
		group.traces[l.Trace] = true
	}
}

// AddGroups adds the counts of other changes.
func (g *Grouping) AddGroups(groups []Group) {
	for _, one := range groups {
		g.group(one.Values).count += one.Count
	}
}

func (g *Grouping) group(values []string) *collected {
	key := ""
	if len(values) == 1 {
		key = values[0]
	} else {
		for _, v := range values {
			key += strconv.Itoa(len(v)) + ":" + v
		}
	}
	group := g.groups[key]
	if group == nil {
		group = &collected{values: values}
		g.groups[key] = group
	}
	return group
}

// Keys returns the values of the keys of each group that has a lifecycle. The state is that of its trace.
func (q *GroupQuery) Keys(l *Lifecycle, of span.State) [][]string {
	out := [][]string{nil}
	for _, by := range q.By {
		values := by.values(l, q.Now, cmp.Or(q.Zone, time.UTC), string(of))
		var longer [][]string
		for _, begun := range out {
			for _, v := range values {
				longer = append(longer, append(slices.Clip(begun), v))
			}
		}
		out = longer
	}
	return out
}

// Page returns the groups in the order of the query.
func (g *Grouping) Page() *GroupPage {
	page := &GroupPage{Since: g.query.Earliest()}
	for _, c := range g.groups {
		one := Group{Values: c.values, Count: c.count + int64(len(c.traces)), With: int64(len(c.lengths))}
		if len(c.lengths) > 0 {
			slices.Sort(c.lengths)
			for _, fraction := range g.query.Quantiles {
				rank := int(math.Ceil(fraction * float64(len(c.lengths)))) // from 1
				one.Quantiles = append(one.Quantiles, time.Duration(c.lengths[max(rank, 1)-1]))
			}
		}
		page.Groups = append(page.Groups, one)
	}
	slices.SortFunc(page.Groups, g.query.CompareGroups)
	if page.More = len(page.Groups) - MaxGroups; page.More > 0 {
		page.Groups = page.Groups[:MaxGroups]
	}
	page.More = max(0, page.More)
	return page
}

// CompareGroups is the order of a GroupPage: negative if a comes before b.
func (q *GroupQuery) CompareGroups(a, b Group) int {
	if n, is := q.Order.Quantile(); is {
		if d := cmp.Or(cmp.Compare(len(b.Quantiles), len(a.Quantiles)), compareQuantiles(n, b, a)); d != 0 {
			return d
		}
	}
	if q.Order == OrderUsual {
		for i, by := range q.By {
			if d := by.Period.compare(b.Values[i], a.Values[i]); by.Period != "" && d != 0 {
				return d
			}
		}
	}
	if d := cmp.Compare(b.Count, a.Count); d != 0 {
		return d
	}
	for i, by := range q.By {
		d := strings.Compare(a.Values[i], b.Values[i])
		if by.Period != "" {
			d = by.Period.compare(b.Values[i], a.Values[i])
		}
		if d != 0 {
			return d
		}
	}
	return 0
}

// compareQuantiles compares the quantile n of two groups, if both have it.
func compareQuantiles(n int, a, b Group) int {
	if n >= len(a.Quantiles) || n >= len(b.Quantiles) {
		return 0
	}
	return cmp.Compare(a.Quantiles[n], b.Quantiles[n])
}
