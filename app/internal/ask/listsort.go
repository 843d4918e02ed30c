// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/api"
)

// orders are the values of List.SortBy. Times and durations sort the largest last, as kubectl does.
var orders = map[string]func(a, b *api.Summary) int{
	"start":    func(a, b *api.Summary) int { return a.Start.Compare(b.Start) },
	"duration": func(a, b *api.Summary) int { return cmp.Compare(a.Duration, b.Duration) },
	"outcome":  func(a, b *api.Summary) int { return cmp.Compare(a.Outcome, b.Outcome) },
	"spans":    func(a, b *api.Summary) int { return cmp.Compare(a.Spans, b.Spans) },
	"who":      func(a, b *api.Summary) int { return cmp.Compare(a.User+a.Actor, b.User+b.Actor) },
	"what": func(a, b *api.Summary) int {
		return cmp.Compare(a.Command+a.Name+objectKey(a), b.Command+b.Name+objectKey(b))
	},
}

// SortOrders returns the possible values of List.SortBy.
func SortOrders() []string { return slices.Sorted(maps.Keys(orders)) }

func objectKey(s *api.Summary) string {
	if s.Object == nil {
		return ""
	}
	return strings.Join([]string{s.Object.Kind.Kind, s.Object.Namespace, s.Object.Name}, "/")
}

// sort orders the entries by SortBy; without it they stay newest first.
func (l *List) sort(found []api.Summary) {
	if order := orders[l.SortBy]; order != nil {
		slices.SortStableFunc(found, func(a, b api.Summary) int { return order(&a, &b) })
	}
}
