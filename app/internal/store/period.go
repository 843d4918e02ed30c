// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"fmt"
	"time"
)

// Period is a length of time that divides lifecycles by their start, in a time zone.
type Period string

// The periods. A week begins on Monday, as in ISO 8601.
const (
	Hour Period = "hour"
	Day  Period = "day"
	Week Period = "week"
)

// Periods returns all periods, the shortest first.
func Periods() []Period { return []Period{Hour, Day, Week} }

// hourLayout is the name of an hour. An hour that a clock shows twice has two offsets.
const hourLayout = "2006-01-02T15:00Z07:00"

// Name returns the name of the period of a local time: 2026-03-01T14:00+01:00, 2026-03-01 or 2026-W09.
func (p Period) Name(local time.Time) string {
	switch p {
	case Hour:
		return local.Format(hourLayout)
	case Week:
		year, week := local.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	case Day:
	}
	return local.Format(time.DateOnly)
}

// compare is the order of two names: negative if a is earlier.
func (p Period) compare(a, b string) int {
	if p == Hour {
		x, errX := time.Parse(hourLayout, a)
		y, errY := time.Parse(hourLayout, b)
		if errX == nil && errY == nil {
			return x.Compare(y)
		}
	}
	return cmp.Compare(a, b)
}
