// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"testing"
	"time"
)

// TestClockPassed: a time passes only after its end.
func TestClockPassed(t *testing.T) {
	cases := map[string]struct {
		reason string
		now    float64
		want   bool
	}{
		"within": {"the span has not ended", 14, false},
		"end":    {"the end belongs to the span", 15, false},
		"after":  {"the span has ended", 15.001, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := NewClock(at(tc.now)).Passed(at(10), 5*time.Second); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}

// TestClockHolds: a derivation holds until the first decision that time alone changes.
func TestClockHolds(t *testing.T) {
	cases := map[string]struct {
		reason string
		ask    func(c *Clock)
		now    float64
		want   bool
	}{
		"timeless": {"no decision depends on the time", func(*Clock) {}, 1e6, true},
		"earlier":  {"a derivation does not hold for the past", func(*Clock) {}, 9, false},
		"same":     {"the derivation is for that time", func(c *Clock) { c.Passed(at(10), 0) }, 10, true},
		"until": {"the decision is the same at the end", func(c *Clock) { c.Passed(at(10), 5*time.Second) },
			15, true},
		"after": {"the decision changes", func(c *Clock) { c.Passed(at(10), 5*time.Second) }, 15.001, false},
		"passed": {"a span that has ended never changes", func(c *Clock) { c.Passed(at(1), time.Second) }, 1e6,
			true},
		"of several":   {"the first change counts", twice(20, 5), 16, false},
		"of several 2": {"the first change counts, in any order", twice(5, 20), 16, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := NewClock(at(10))
			tc.ask(c)
			if got := c.Holds(at(tc.now)); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}

// twice asks the clock for two spans from second 10 on.
func twice(a, b int) func(c *Clock) {
	return func(c *Clock) {
		c.Passed(at(10), time.Duration(a)*time.Second)
		c.Passed(at(10), time.Duration(b)*time.Second)
	}
}
