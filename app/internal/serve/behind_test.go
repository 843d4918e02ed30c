// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

func TestBehind(t *testing.T) {
	none := watch.Stats{Lag: time.Minute, Resources: []watch.ResourceStats{{Streams: 2}}}
	some := watch.Stats{Lag: time.Minute, Resources: []watch.ResourceStats{{Streams: 2, Connected: 1}}}
	all := watch.Stats{Resources: []watch.ResourceStats{{Streams: 2, Connected: 2}}}
	type step struct {
		stats   watch.Stats
		synced  bool
		waiting int
		after   time.Duration
		want    bool
	}
	tests := map[string]struct {
		reason string
		steps  []step
	}{
		"start": {"nothing was read yet, then all was", []step{
			{watch.Stats{}, false, 0, 0, true}, {some, false, 0, time.Second, true}, {all, true, 0, time.Second, false},
		}},
		"backlog": {
			"what came last is still to be taken in",
			[]step{
				{
					some,
					true,
					9,
					0,
					true,
				},
				{all, true, 9, time.Second, true},
				{all, true, 0, time.Second, false},
				{all, true, 9, time.Second, false},
			},
		},
		"outage": {
			"time without any watch does not count",
			[]step{
				{
					all,
					true,
					0,
					0,
					false,
				},
				{none, true, 0, time.Hour, true},
				{none, true, 0, time.Hour, true},
				{some, true, 0, time.Hour, true},
				{some, true, 0, catchUp - 1, true},
				{some, true, 0, 1, false},
			},
		},
		"outage that begins slowly": {
			"watches end one after the other: the remaining ones are no return",
			[]step{
				{
					all,
					true,
					0,
					0,
					false,
				},
				{some, true, 0, time.Second, true},
				{none, true, 0, time.Second, true},
				{none, true, 0, time.Hour, true},
				{some, true, 0, 0, true},
				{some, true, 0, catchUp - 1, true},
				{some, true, 0, 1, false},
			},
		},
		"again": {
			"each outage is waited for",
			[]step{
				{
					some,
					true,
					0,
					0,
					true,
				},
				{some, true, 0, catchUp, false},
				{all, true, 0, 0, false},
				{some, true, 0, 0, true},
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b, now := &behind{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			for i, s := range tt.steps {
				now = now.Add(s.after)
				b.synced.Store(s.synced)
				if got := b.check(s.stats, s.waiting, now); got != s.want {
					t.Errorf("step %d: behind is %t, want %t: %s", i, got, s.want, tt.reason)
				}
			}
		})
	}
}
