// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

func TestMoment(t *testing.T) {
	at := epoch.Add
	live := func(d time.Duration) moment { return moment{hi: at(d), live: true} }
	tests := map[string]struct {
		reason string
		m      moment
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
			live(300 * time.Millisecond).within(at(0)),
			300 * time.Millisecond,
			span.TimeWatch,
		},
		"just after": {
			"an arrival just after that second means its end",
			live(1040 * time.Millisecond).within(at(0)),
			time.Second,
			span.TimeWatch,
		},
		"long after": {
			"a late arrival says nothing: the object's second stands",
			live(3 * time.Second).within(at(0)),
			0,
			span.TimeObject,
		},
		"clocks differ": {
			"an arrival before the object's time says nothing either",
			live(0).within(at(2 * time.Second)),
			2 * time.Second,
			span.TimeObject,
		},
		"listed": {
			"what a list shows has the object's time",
			moment{hi: at(300 * time.Millisecond)}.within(at(0)),
			0,
			span.TimeObject,
		},
		"request": {
			"a request that was seen is exact",
			live(time.Second).exactly(&observation.Write{Start: at(7 * time.Millisecond)}),
			7 * time.Millisecond,
			span.TimeRequest,
		},
		"no object time": {
			"without a timestamp the arrival stands",
			live(time.Second).within(time.Time{}),
			time.Second,
			span.TimeWatch,
		},
		"request is kept": {
			"a request is not made less exact",
			live(time.Second).exactly(&observation.Write{Start: at(7 * time.Millisecond)}).within(at(0)),
			7 * time.Millisecond,
			span.TimeRequest,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tt.m.at()
			if got.Sub(epoch) != tt.want || got.Source != tt.source {
				t.Errorf("%s: %s by %s, want %s by %s", tt.reason, got.Sub(epoch), got.Source, tt.want, tt.source)
			}
		})
	}
}

func TestCausesComeFirst(t *testing.T) {
	s := newStory()
	s.rollout()
	late := s.seen[0]
	late.Seen = late.Seen.Add(350 * time.Millisecond) // after its ReplicaSet and its Pod
	starts := map[string]time.Time{}
	for _, tr := range observe(s.seen).Traces(s.now().Add(time.Minute)) {
		for _, sp := range tr.Spans {
			starts[sp.Name] = sp.Start.Time
		}
	}
	if d, r := starts["reconcile Deployment"], starts["reconcile ReplicaSet"]; d.IsZero() || d.After(r) {
		t.Errorf("the Deployment's reconciliation starts %s after that of the ReplicaSet that it causes", d.Sub(r))
	}
}
