// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"testing"
	"time"
)

// TestLeast: the least correction of a clock within its bounds.
func TestLeast(t *testing.T) {
	s := time.Second
	for name, c := range map[string]struct {
		reason string
		of     bounds
		want   time.Duration
	}{
		"Right":         {"zero is within the bounds", bounds{-s, s, -s, s}, 0},
		"Precision":     {"a difference without proof of an error", bounds{precision, s, precision, s}, 0},
		"Late":          {"the least above zero", bounds{2 * s, 5 * s, 2 * s, 5 * s}, 2 * s},
		"Early":         {"the least below zero", bounds{-5 * s, -2 * s, -5 * s, -2 * s}, -2 * s},
		"Calm":          {"the calls contain what they called", bounds{2 * s, 5 * s, 3 * s, 4 * s}, 3 * s},
		"NotCalm":       {"without such a correction, causality alone", bounds{2 * s, 5 * s, 4 * s, 3 * s}, 2 * s},
		"Contradiction": {"the proofs contradict each other", bounds{3 * s, 2 * s, 3 * s, 2 * s}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.of.least(); got != c.want {
				t.Errorf("the correction is %s, want %s: %s", got, c.want, c.reason)
			}
			if got := c.of.reversed().least(); got != -c.want && name != "NotCalm" && name != "Calm" {
				t.Errorf("the correction of the other clock is %s, want %s", got, -c.want)
			}
		})
	}
}

// TestSolve: clocks are corrected against those that are known, anchors first.
func TestSolve(t *testing.T) {
	s := time.Second
	after := func(d time.Duration) bounds { return bounds{lo: d, hi: endless, calmLo: d, calmHi: endless} }
	both := func(d time.Duration) bounds { return bounds{lo: d, hi: d + s, calmLo: d, calmHi: d + s} }
	const api, kubelet, runtime = 11, 12, 13
	all := []clocked{{api, true}, {kubelet, false}, {runtime, false}}
	for name, c := range map[string]struct {
		reason string
		edges  map[pair]bounds
		want   corrections
	}{
		"Chain": {
			"a clock is corrected against a corrected one",
			map[pair]bounds{{api, reference}: both(0), {kubelet, api}: both(3 * s), {runtime, kubelet}: both(-s - 1)},
			corrections{kubelet: 3 * s, runtime: 2*s - 1},
		},
		"BothWaysFirst": {
			"a clock with two bounds is known before one with one",
			map[pair]bounds{
				{kubelet, reference}: after(2 * s), {runtime, reference}: both(5 * s), {kubelet, runtime}: both(0),
			},
			corrections{kubelet: 5 * s, runtime: 5 * s},
		},
		"TooMuch": {
			"a difference beyond measure is not corrected",
			map[pair]bounds{{kubelet, reference}: both(2 * time.Minute)}, corrections{},
		},
		"Apart": {
			"without a tie to our clock, the most trusted one counts as correct",
			map[pair]bounds{{runtime, api}: both(4 * s)}, corrections{runtime: 4 * s},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := solve(c.edges, append([]clocked(nil), all...), time.Minute)
			if len(got) != len(c.want) {
				t.Fatalf("got %v, want %v: %s", got, c.want, c.reason)
			}
			for id, want := range c.want {
				if got[id] != want {
					t.Errorf("got %v, want %v: %s", got, c.want, c.reason)
				}
			}
		})
	}
}
