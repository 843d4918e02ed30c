// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

func TestDelay(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	// change is one change: the seconds of its creation, its last field manager and its observation.
	type change struct {
		event                 bool
		created, managed, now int
	}
	for name, c := range map[string]struct {
		reason  string
		changes []change
		want    time.Duration
	}{
		"None":     {"no change shows no delay", nil, 0},
		"Now":      {"the server's times have whole seconds", []change{{created: -60, managed: 10, now: 11}}, 0},
		"Late":     {"the newest manager writes", []change{{created: -60, managed: 10, now: 25}}, 14 * time.Second},
		"Created":  {"an object may have no manager", []change{{created: 10, managed: -9, now: 25}}, 14 * time.Second},
		"Before":   {"a write before the watch is no delay", []change{{created: -60, managed: -1, now: 25}}, 0},
		"Deletion": {"the time of a deletion is unknown", []change{{managed: 20, now: 20}, {managed: 10, now: 28}}, 0},
		"Longest": {
			"the longest of the last half minute",
			[]change{{managed: 10, now: 25}, {managed: 26, now: 28}}, 14 * time.Second,
		},
		"Over": {"a delay does not stay", []change{{managed: 10, now: 25}, {managed: 70, now: 73}}, 2 * time.Second},
		"Ahead": {
			"a forged time hides no delay",
			[]change{{managed: 500, now: 5}, {managed: 10, now: 25}}, 14 * time.Second,
		},
		"Event": {"an Event counts by its creation", []change{{event: true, created: 10, now: 25}}, 14 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			m, count, now := meter{newest: began}, new(counters), began
			for _, ch := range c.changes {
				now = at(ch.now)
				o := &observation.Observation{Seen: now, Event: &observation.Event{Last: at(-100)}}
				if !ch.event {
					o = &observation.Observation{Seen: now, State: &observation.State{
						Created:  at(ch.created),
						Managers: []observation.Manager{{Time: at(-90)}, {Time: at(ch.managed)}},
					}}
				}
				obj := &metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(at(ch.created))}
				if took, known := m.measure(obj, o); known {
					count.delay.note(took, now)
				}
			}
			if got := count.stats(pods.GroupResource(), now).Delay; got != c.want {
				t.Errorf("a delay of %s, want %s: %s", got, c.want, c.reason)
			}
			if got := count.stats(pods.GroupResource(), now.Add(delayFor+1)).Delay; got != 0 {
				t.Errorf("a delay of %s after a time without changes, want none", got)
			}
		})
	}
}
