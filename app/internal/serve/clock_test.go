// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"testing"
	"time"
)

func TestClockFollowsAndNeverLeaps(t *testing.T) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		reason    string
		notBefore time.Duration
		steps     []reading
		jumps     int
	}{
		"Steady": {
			reason: "without a jump the clock is the wall clock",
			steps: []reading{
				{mono: time.Second, wall: time.Second, want: time.Second},
				{mono: time.Minute, wall: time.Minute, want: time.Minute},
			},
		},
		"Forward": {
			reason: "an hour's jump is followed by a tenth of the time that passes",
			steps: []reading{
				{mono: 10 * time.Second, wall: 10*time.Second + time.Hour, want: 11 * time.Second},
				{mono: 20 * time.Second, wall: 20*time.Second + time.Hour, want: 22 * time.Second},
			},
			jumps: 1,
		},
		"Back": {
			reason: "a clock that is set back slows this one, which never goes back",
			steps: []reading{
				{mono: 10 * time.Second, wall: -time.Hour, want: 9 * time.Second},
				{mono: 20 * time.Second, wall: 10*time.Second - time.Hour, want: 18 * time.Second},
			},
			jumps: 1,
		},
		"Drift": {
			reason: "small corrections by NTP are no jump",
			steps: []reading{
				{
					mono: 10 * time.Second,
					wall: 10*time.Second + 100*time.Millisecond,
					want: 10*time.Second + 100*time.Millisecond,
				},
			},
		},
		"BehindTheStore": {
			reason:    "a server with later times in its store continues from them",
			notBefore: time.Minute,
			steps:     []reading{{mono: 10 * time.Second, wall: 10 * time.Second, want: time.Minute + 9*time.Second}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var jumps int
			f := &fakeReader{wall: begin}
			clk := newClock(f.read, begin.Add(c.notBefore), func(time.Duration) { jumps++ })
			clk.since = func(time.Time) time.Duration { return f.mono }
			for _, s := range c.steps {
				f.mono, f.wall = s.mono, begin.Add(s.wall)
				if got := clk.Now().Sub(begin); got != s.want {
					t.Errorf("%s: after %s the clock shows %s, want %s", c.reason, s.mono, got, s.want)
				}
			}
			if jumps != c.jumps {
				t.Errorf("%s: %d jumps reported, want %d", c.reason, jumps, c.jumps)
			}
		})
	}
}

type reading struct{ mono, wall, want time.Duration }

type fakeReader struct {
	wall time.Time
	mono time.Duration
}

func (f *fakeReader) read() time.Time { return f.wall }
