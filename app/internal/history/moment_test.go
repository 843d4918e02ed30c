// SPDX-License-Identifier: Apache-2.0

package history

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// began is the base of all times in the test.
var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestMoment(t *testing.T) {
	at := began.Add
	live := func(d time.Duration) Moment { return Moment{Hi: at(d), Live: true} }
	tests := map[string]struct {
		reason string
		m      Moment
		want   time.Duration
		source span.TimeSource
	}{
		"arrival": {
			"a live arrival is the best guess",
			live(300 * time.Millisecond),
			300 * time.Millisecond,
			span.TimeWatch,
		},
		"in its second": {
			"an arrival within the second that the object names stands",
			live(300 * time.Millisecond).Within(at(0)),
			300 * time.Millisecond,
			span.TimeWatch,
		},
		"just after": {
			"an arrival just after that second means its end",
			live(1040 * time.Millisecond).Within(at(0)),
			time.Second,
			span.TimeWatch,
		},
		"long after": {
			"a late arrival says nothing: the object's second stands",
			live(3 * time.Second).Within(at(0)),
			0,
			span.TimeObject,
		},
		"clocks differ": {
			"an arrival before the object's time says nothing either",
			live(0).Within(at(2 * time.Second)),
			2 * time.Second,
			span.TimeObject,
		},
		"listed": {
			"what a list shows has the object's time",
			Moment{Hi: at(300 * time.Millisecond)}.Within(at(0)),
			0,
			span.TimeObject,
		},
		"request": {
			"a request that was seen is exact",
			live(time.Second).Exactly(&observation.Write{Start: at(7 * time.Millisecond)}),
			7 * time.Millisecond,
			span.TimeRequest,
		},
		"no object time": {
			"without a timestamp the arrival stands",
			live(time.Second).Within(time.Time{}),
			time.Second,
			span.TimeWatch,
		},
		"after another": {
			"it is not earlier than what came before it",
			Whole(at(0)).After(live(700 * time.Millisecond)),
			700 * time.Millisecond,
			span.TimeObject,
		},
		"after a later one": {
			"the earlier one has the better time",
			Whole(at(0)).After(live(1050 * time.Millisecond)),
			1050 * time.Millisecond,
			span.TimeObject,
		},
		"after an upper bound": {
			"an upper bound moves nothing",
			Whole(at(0)).After(Moment{Hi: at(700 * time.Millisecond)}),
			0,
			span.TimeObject,
		},
		"live after another": {
			"a live arrival is not moved",
			live(300 * time.Millisecond).After(live(400 * time.Millisecond)),
			300 * time.Millisecond,
			span.TimeWatch,
		},
		"request is kept": {
			"a request is not made less exact",
			live(time.Second).Exactly(&observation.Write{Start: at(7 * time.Millisecond)}).Within(at(0)),
			7 * time.Millisecond,
			span.TimeRequest,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tt.m.At()
			if got.Sub(began) != tt.want || got.Source != tt.source {
				t.Errorf("%s: %s by %s, want %s by %s", tt.reason, got.Sub(began), got.Source, tt.want, tt.source)
			}
		})
	}
}
