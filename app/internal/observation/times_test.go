// SPDX-License-Identifier: Apache-2.0

package observation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestBoundTimes: a user of the cluster can write any time into an Event or a status.
func TestBoundTimes(t *testing.T) {
	now := start.Add(time.Hour)
	far, before := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2, 1, 1, 0, 0, 0, 0, time.UTC)
	unknown := time.Time{}
	state := func(at, container time.Time) *Observation {
		running := func() []Container {
			return []Container{
				{
					Name: "a", State: &ContainerState{Started: container}, Last: &ContainerState{
						Started: container, Finished: container,
					},
				}, {Name: "b"},
			}
		}
		return &Observation{State: &State{
			Created: start, Managers: []Manager{{Name: "m", Time: at}}, Conditions: []Condition{
				{Type: "Ready", Since: at},
			},
			Pod: &Pod{Scheduled: at, Started: container, Init: running(), Containers: running()},
		}}
	}
	for name, tc := range map[string]struct {
		reason    string
		got, want *Observation
		replaced  int
	}{
		"event": {
			"who may create Events chooses their times", &Observation{
				Event: &Event{First: far, Last: before, Time: far},
			}, &Observation{Event: &Event{}}, 3,
		},
		"good event": {
			"clocks differ a little", &Observation{
				Event: &Event{First: start, Last: now.Add(time.Minute)},
			}, &Observation{Event: &Event{First: start, Last: now.Add(time.Minute)}}, 0,
		},
		"state, 9999":   {"an operator writes conditions", state(far, far), state(unknown, start), 10},
		"state, year 2": {"it is before all", state(before, before), state(unknown, start), 10},
		"good state":    {"", state(start, start), state(start, start), 0},
		"unknown":       {"what is not there stays so", state(unknown, unknown), state(unknown, unknown), 0},
		"the server's": {
			"a Pod may be given any time to end", &Observation{State: &State{Deleting: far}}, &Observation{
				State: &State{Deleting: far},
			}, 0,
		},
		"gone": {"", &Observation{Gone: &Gone{}}, &Observation{Gone: &Gone{}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if n := tc.got.BoundTimes(now); n != tc.replaced {
				t.Errorf("%s: %d were replaced, want %d", tc.reason, n, tc.replaced)
			}
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if n := tc.got.BoundTimes(now); n != 0 {
				t.Errorf("%s: a second time %d were replaced", tc.reason, n)
			}
		})
	}
}
