// SPDX-License-Identifier: Apache-2.0

package timestamp_test

import (
	"math"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func year(y int) time.Time { return time.Date(y, 6, 1, 0, 0, 0, 0, time.UTC) }

func TestPossible(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		at     time.Time
		want   bool
	}{
		"now":          {"the usual", now, true},
		"ahead":        {"clocks differ", now.Add(timestamp.MaxAhead), true},
		"too far":      {"no clock is set so", now.Add(timestamp.MaxAhead + 1), false},
		"2099":         {"it would stay first in every list", year(2099), false},
		"2300":         {"it does not fit into int64 nanoseconds", year(2300), false},
		"9999":         {"the last year of RFC 3339", year(9999), false},
		"2000":         {"the earliest", time.Unix(946_684_800, 0), true},
		"1999":         {"nothing was traced then", time.Unix(946_684_799, 0), false},
		"year 1":       {"it does not fit into int64 nanoseconds", time.Time{}.Add(time.Second), false},
		"zero":         {"it is unknown", time.Time{}, false},
		"another zone": {"the moment counts", now.In(time.FixedZone("", 12*3600)), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := timestamp.Possible(tc.at, now); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
			known := timestamp.Known(tc.at, now)
			if known.IsZero() == tc.want || tc.want && !known.Equal(tc.at) {
				t.Errorf("%s: Known gives %v", tc.reason, known)
			}
		})
	}
}

func TestFromNanos(t *testing.T) {
	for _, tc := range []struct {
		ns   uint64
		want bool
	}{
		{uint64(now.UnixNano()), true},
		{uint64(now.Add(timestamp.MaxAhead).UnixNano()), true},
		{uint64(now.Add(timestamp.MaxAhead).UnixNano()) + 1, false},
		{0, false}, {1, false}, {math.MaxInt64, false}, {math.MaxInt64 + 1, false}, {math.MaxUint64, false},
	} {
		got, ok := timestamp.FromNanos(tc.ns, now)
		if ok != tc.want || ok != !got.IsZero() || ok && uint64(got.UnixNano()) != tc.ns {
			t.Errorf("%d: got %v, %t", tc.ns, got, ok)
		}
	}
}

func TestInterval(t *testing.T) {
	at := now.Add
	for name, tc := range map[string]struct {
		start, end time.Time
		from, to   time.Time
		changed    bool
	}{
		"good":  {at(-2), at(-1), at(-2), at(-1), false},
		"ahead": {at(time.Minute), at(2 * time.Minute), at(time.Minute), at(2 * time.Minute), false},
		"old": {
			at(-24 * time.Hour), at(-24*time.Hour + 1), at(-24 * time.Hour), at(-24*time.Hour + 1), false,
		},
		"turned round":       {at(-1), at(-2), at(-1), at(-1), false},
		"year 1":             {year(1), at(-1), at(-1), at(-1), true},
		"both in year 1":     {year(1), year(1), now, now, true},
		"both in 9999":       {year(9999), year(9999), now, now, true},
		"received in 9999":   {year(9999), at(-1), at(-1), at(-1), true},
		"answered in 9999":   {at(-1), year(9999), at(-1), at(-1), true},
		"answered in year 1": {at(-1), year(1), at(-1), at(-1), true},
		"from 1 to 9999":     {year(1), year(9999), now, now, true},
		"took years":         {year(2010), at(-1), at(-1), at(-1), true},
		"no times":           {time.Time{}, time.Time{}, now, now, true},
	} {
		t.Run(name, func(t *testing.T) {
			from, to, changed := timestamp.Interval(tc.start, tc.end, now)
			if !from.Equal(tc.from) || !to.Equal(tc.to) || changed != tc.changed {
				t.Errorf("got %v to %v, %t; want %v to %v", from, to, changed, tc.from, tc.to)
			}
		})
	}
}
