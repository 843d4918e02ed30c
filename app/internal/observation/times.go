// SPDX-License-Identifier: Apache-2.0

package observation

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

// BoundTimes replaces impossible times in fields that users of the cluster can write. The times of
// Events, conditions, field managers and Pods become unknown. The times of containers distinguish
// their states; they become the Pod's creation. The API server's times stay. It returns the number
// of replaced times.
func (o *Observation) BoundTimes(now time.Time) int {
	b := bounder{now: now}
	if e := o.Event; e != nil {
		b.bound(&e.First, time.Time{})
		b.bound(&e.Last, time.Time{})
		b.bound(&e.Time, time.Time{})
	}
	if s := o.State; s != nil {
		b.state(s)
	}
	return b.replaced
}

// bounder counts replaced times.
type bounder struct {
	now      time.Time
	replaced int
}

// bound replaces an impossible time. Unknown times stay.
func (b *bounder) bound(t *time.Time, by time.Time) {
	if !t.IsZero() && !timestamp.Possible(*t, b.now) {
		*t = by
		b.replaced++
	}
}

func (b *bounder) state(s *State) {
	for i := range s.Managers {
		b.bound(&s.Managers[i].Time, time.Time{})
	}
	for i := range s.Conditions {
		b.bound(&s.Conditions[i].Since, time.Time{})
	}
	p := s.Pod
	if p == nil {
		return
	}
	b.bound(&p.Scheduled, time.Time{})
	b.bound(&p.Started, s.Created)
	for _, containers := range [][]Container{p.Init, p.Containers} {
		for i := range containers {
			for _, state := range []*ContainerState{containers[i].State, containers[i].Last} {
				if state != nil {
					b.bound(&state.Started, s.Created)
					b.bound(&state.Finished, s.Created)
				}
			}
		}
	}
}
