// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestObjects: Objects yields each stored object with its newest version, also after its traces
// were taken and its history forgotten.
func TestObjects(t *testing.T) {
	s := newStory()
	s.rollout()
	s.write("web-1-a", deleting)
	s.gone("web-1-a")
	stranger := s.objects["web"].Ref
	stranger.UID = "nobody"
	s.emit(observation.Observation{Event: &observation.Event{ResourceVersion: 8, Regarding: stranger}})
	want := map[object.Ref]uint64{s.objects["web"].Ref: 107, s.objects["web-1"].Ref: 106}
	e := observe(s.seen)
	for _, when := range []string{"observed", "taken"} {
		if diff := cmp.Diff(want, maps.Collect(e.Objects())); diff != "" {
			t.Errorf("objects, when %s: -want +got:\n%s", when, diff)
		}
		e.Take(s.now().Add(time.Hour))
	}
	for range e.Objects() {
		break // must be possible
	}
}
