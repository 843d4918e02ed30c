// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/question"
)

// MaxKeys bounds the keys of the groups of one question.
const MaxKeys = 3

// state is the text of the By of states.
const state = "state"

// keySynonyms are the names of lists by that of an element.
var keySynonyms = map[string]string{
	"image": "images", "field": "changed",
}

// By is one key of groups: a value that the lifecycles of a group share. One of its members is set.
type By struct {
	Text *question.Text
	// Elements are the values of a list: a lifecycle counts in the group of each.
	Elements *question.Elements
	// Period is that of the start.
	Period Period
	// State is the state of the trace. Only changes have one.
	State bool
}

// ParseBy returns the By of a field with a text or a list, of another expression with a text, of a period, of "state",
// or of one of KeyNames. The error is a *question.Error.
func ParseBy(text string) (By, error) {
	name := strings.TrimSpace(text)
	if name == state {
		return By{State: true}, nil
	}
	if period := Period(name); slices.Contains(Periods(), period) {
		return By{Period: period}, nil
	}
	if list, is := question.ElementsOf(cmp.Or(keySynonyms[name], name)); is {
		return By{Elements: list}, nil
	}
	of, err := question.ParseText(text)
	var fault *question.Error
	if errors.As(err, &fault) {
		if near := question.Nearest(name, KeyNames()); near != "" {
			fault.Hint = "did you mean " + near + "?"
		}
	}
	return By{Text: of}, err
}

// KeyNames returns the names of keys that are no fields with a text: lists, periods and short names.
func KeyNames() []string {
	out := question.Lists()
	for _, p := range Periods() {
		out = append(out, string(p))
	}
	for name := range keySynonyms {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Uses reports whether the key uses the field with this name.
func (b By) Uses(field string) bool {
	switch {
	case b.Text != nil:
		return b.Text.Uses(field)
	case b.Elements != nil:
		return b.Elements.Uses(field)
	}
	return b.Period != "" && field == "start"
}

// values returns the values of a lifecycle at the time now, and in a time zone. There is one, or one an element. The
// state is that of its trace.
func (b By) values(l *Lifecycle, now time.Time, zone *time.Location, state string) []string {
	switch {
	case b.Elements != nil:
		return b.Elements.Of(&l.Lifecycle)
	case b.Period != "":
		return []string{b.Period.Name(l.Start.In(zone))}
	case b.State:
		return []string{state}
	case b.Text != nil:
		return []string{b.Text.Of(&l.Lifecycle, now)}
	}
	return []string{""}
}

// GroupOrder is the order of groups: OrderUsual, OrderCount or that of OrderQuantile.
type GroupOrder int

const (
	// OrderUsual: the newest period first, then the largest group, then by the values.
	OrderUsual GroupOrder = 0
	// OrderCount: the largest first.
	OrderCount GroupOrder = -1
)

// OrderQuantile is the order by a quantile, from 0 in GroupQuery.Quantiles: the highest first.
func OrderQuantile(n int) GroupOrder { return GroupOrder(n + 1) }

// Quantile returns the number of the quantile, and false for another order.
func (o GroupOrder) Quantile() (n int, is bool) { return int(o) - 1, o > 0 }

// validate returns an error for a quantile that q does not have.
func (o GroupOrder) validate(q *GroupQuery) error {
	if n, is := o.Quantile(); is && n >= len(q.Quantiles) {
		return fmt.Errorf("cannot sort by quantile %d of %d", n+1, len(q.Quantiles))
	}
	return nil
}
