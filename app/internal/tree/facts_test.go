// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestEnds: the exit code is that of the container that ended last, and restarts are those of all containers.
func TestEnds(t *testing.T) {
	ended := func(second int64, code int32) *observation.ContainerState {
		return &observation.ContainerState{Finished: time.Unix(second, 0), ExitCode: code}
	}
	none := &history.PodExtra{}
	waiting := &observation.ContainerState{Waiting: true, Reason: "CrashLoopBackOff"}
	for name, c := range map[string]struct {
		pod  history.PodState
		want span.PodFacts
	}{
		"none": {history.PodState{PodExtra: none, Containers: []*observation.Container{{Name: "a"}}}, span.PodFacts{}},
		"completed": {history.PodState{PodExtra: none, Containers: []*observation.Container{{State: ended(5, 0)}}},
			span.PodFacts{Ended: true}},
		"crash loop": {history.PodState{
			PodExtra: &history.PodExtra{Init: []*observation.Container{{State: ended(1, 0)}}},
			Containers: []*observation.Container{
				{Restarts: 3, State: waiting, Last: ended(9, 137)}, {Restarts: 1, Last: ended(7, 1)},
			},
		}, span.PodFacts{Restarts: 4, Ended: true, ExitCode: 137}},
	} {
		got := span.PodFacts{}
		ends(&got, &c.pod)
		if got.Restarts != c.want.Restarts || got.Ended != c.want.Ended || got.ExitCode != c.want.ExitCode {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
