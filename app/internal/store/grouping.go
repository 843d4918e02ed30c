// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/question"
)

// day is the text of the By of days.
const day = "day"

// By is what the lifecycles of a group share: a text, or the date of their start.
type By struct {
	// Text is nil without a text.
	Text *question.Text
	// Day means the date.
	Day bool
}

// ParseBy returns the By of a field with a text, of another expression with one, or of "day". The error is a
// *question.Error.
func ParseBy(text string) (By, error) {
	if text == day {
		return By{Day: true}, nil
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

// collected is a group so far.
type collected struct {
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
	value := g.value(l)
	group := g.groups[value]
	if group == nil {
		group = &collected{}
		g.groups[value] = group
	}
	group.count++
	if g.query.Of == nil {
		return
	}
	if d, is := g.query.Of.Of(&l.Lifecycle, g.query.Now); is {
		group.values = append(group.values, d.Nanoseconds())
	}
}

// value returns the name of the group of a lifecycle.
func (g *Grouping) value(l *Lifecycle) string {
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
		one := Group{Value: value, Count: c.count, With: int64(len(c.values))}
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
