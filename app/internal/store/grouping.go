// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// The texts of the By of days and states.
const (
	day   = "day"
	state = "state"
)

// By is what the lifecycles of a group share: a text, the date of their start, or the state of their trace.
type By struct {
	// Text is nil without a text.
	Text *question.Text
	// Day means the date, and State the state. Only changes have a state.
	Day, State bool
}

// ParseBy returns the By of a field with a text, of another expression with one, of "day", or of "state". The error
// is a *question.Error.
func ParseBy(text string) (By, error) {
	switch text {
	case day:
		return By{Day: true}, nil
	case state:
		return By{State: true}, nil
	}
	of, err := question.ParseText(text)
	var fault *question.Error
	if errors.As(err, &fault) && question.Nearest(text, []string{day}) != "" {
		fault.Hint = "did you mean " + day + "?"
	}
	return By{Text: of}, err
}

// Grouping makes the groups of lifecycles in memory. It keeps one number for each value of Of.
type Grouping struct {
	query  *GroupQuery
	groups map[string]*collected
}

// collected is a group so far. Only a count of changes has its traces.
type collected struct {
	traces map[trace.TraceID]bool
	count  int64
	values []int64
}

// NewGrouping returns a Grouping without lifecycles, or the error of q.Validate.
func NewGrouping(q *GroupQuery) (*Grouping, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	return &Grouping{q, map[string]*collected{}}, nil
}

// Add counts a lifecycle. The caller selects.
func (g *Grouping) Add(l *Lifecycle) {
	value := g.Value(l)
	group := g.group(value)
	group.count++
	if g.query.Of == nil {
		return
	}
	if d, is := g.query.Of.Of(&l.Lifecycle, g.query.Now); is {
		group.values = append(group.values, d.Nanoseconds())
	}
}

// AddChange counts the trace of a lifecycle once in its group. The caller selects.
func (g *Grouping) AddChange(l *Lifecycle, of span.State) {
	value := string(of)
	if !g.query.By.State {
		value = g.Value(l)
	}
	group := g.group(value)
	if group.traces == nil {
		group.traces = map[trace.TraceID]bool{}
	}
	group.traces[l.Trace] = true
}

// AddGroups adds the counts of other changes.
func (g *Grouping) AddGroups(groups []Group) {
	for _, one := range groups {
		g.group(one.Value).count += one.Count
	}
}

func (g *Grouping) group(value string) *collected {
	group := g.groups[value]
	if group == nil {
		group = &collected{}
		g.groups[value] = group
	}
	return group
}

// Value returns the name of the group of a lifecycle.
func (g *Grouping) Value(l *Lifecycle) string {
	switch by := g.query.By; {
	case by.Day:
		return l.Start.In(cmp.Or(g.query.Zone, time.UTC)).Format(time.DateOnly)
	case by.Text != nil:
		return by.Text.Of(&l.Lifecycle, g.query.Now)
	}
	return ""
}

// Page returns the groups: the largest first, those of equal size by their value; days the newest first.
func (g *Grouping) Page() *GroupPage {
	page := &GroupPage{Since: g.query.Earliest()}
	for value, c := range g.groups {
		one := Group{Value: value, Count: c.count + int64(len(c.traces)), With: int64(len(c.values))}
		if len(c.values) > 0 {
			slices.Sort(c.values)
			for _, fraction := range g.query.Quantiles {
				rank := int(math.Ceil(fraction * float64(len(c.values)))) // from 1
				one.Quantiles = append(one.Quantiles, time.Duration(c.values[max(rank, 1)-1]))
			}
		}
		page.Groups = append(page.Groups, one)
	}
	slices.SortFunc(page.Groups, func(a, b Group) int {
		if g.query.By.Day {
			return cmp.Compare(b.Value, a.Value)
		}
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	if page.More = len(page.Groups) - MaxGroups; page.More > 0 {
		page.Groups = page.Groups[:MaxGroups]
	}
	page.More = max(0, page.More)
	return page
}
