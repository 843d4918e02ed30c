// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestMeasure: a longer delay counts at once, a shorter one gradually.
func TestMeasure(t *testing.T) {
	type event struct {
		end, seen float64
		forged    bool
	}
	cases := map[string]struct {
		reason string
		events []event
		want   time.Duration
	}{
		"none":   {"nothing was measured", nil, 0},
		"first":  {"the first delay counts", []event{{10, 12, false}}, 2 * time.Second},
		"longer": {"a longer delay counts at once", []event{{10, 11, false}, {20, 24, false}}, 4 * time.Second},
		"shorter": {"a shorter delay counts gradually", []event{{10, 16.4, false}, {20, 20, false}},
			6300 * time.Millisecond},
		"history": {"an old event shows no delay", []event{{10, 12, false}, {20, 51, false}}, 2 * time.Second},
		"at most": {"the longest delay that a trace waits for", []event{{10, 40, false}}, change.MaxLag},
		"forged":  {"a forged event shows no delay", []event{{10, 12, true}}, 0},
		"clocks":  {"an event cannot come before its end", []event{{10, 8, false}}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			for _, e := range tc.events {
				w.Measure(&observation.Observation{
					Seen: at(e.seen), Write: &observation.Write{End: at(e.end), Unauthenticated: e.forged},
				})
			}
			if w.delay != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, w.delay, tc.want)
			}
		})
	}
}

// TestLags: a request may arrive within twice the delay of the audit log.
func TestLags(t *testing.T) {
	measured := func(w *world, delay float64) {
		w.Measure(&observation.Observation{Seen: at(10 + delay), Write: &observation.Write{End: at(10)}})
	}
	cases := map[string]struct {
		reason string
		delay  float64
		edit   func(w *world, of *change.Write)
		now    float64
		want   bool
	}{
		"within":       {"the write of 12 may get its request", 2, nil, 16, true},
		"after":        {"the request would be here", 2, nil, 16.001, false},
		"no audit log": {"nothing was measured", 0, nil, 12, false},
		"at most":      {"no trace waits longer", 20, nil, 42, true},
		"too long":     {"no trace waits longer", 20, nil, 42.001, false},
		"found": {"no request is expected", 2, func(_ *world, of *change.Write) { of.Reconstructed = true },
			13, false},
		"request": {"the request is known", 2,
			func(_ *world, of *change.Write) { of.Request = &observation.Write{} }, 13, false},
		"audited": {"the request has arrived", 2,
			func(w *world, of *change.Write) { w.attach(of.Timeline, "patch", 12) }, 13, false},
		"other request": {"another request has arrived", 2,
			func(w *world, of *change.Write) { w.attach(of.Timeline, "create", 10) }, 13, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			of := write(w.put("uid", 10, 12), 12)
			if tc.delay > 0 {
				measured(w, tc.delay)
			}
			if tc.edit != nil {
				tc.edit(w, of)
			}
			if got := w.Lags(of, at(tc.now)); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}

	w := newWorld()
	measured(w, 2)
	of := write(w.put("uid", 10, 312), 312)
	if !w.Lags(of, at(312)) {
		t.Error("an audit log that was silent for five minutes counts as ended")
	}
	if w.Lags(of, at(312.001)) {
		t.Error("an audit log that was silent for longer still lags")
	}
}
