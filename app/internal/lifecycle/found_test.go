// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestFoundAfterAnOutage: after an outage too long for the API server's watch cache, only the last
// version of each object is listed, also of dependants before their owners.
func TestFoundAfterAnOutage(t *testing.T) {
	tests := map[string]struct {
		reason         string
		before, during func(*story)
		// between means that the newest versions do not show the changes between.
		between bool
	}{
		"created": {"one change made all three", func(*story) {}, (*story).rollout, false},
		"rolled out": {"the change of the Deployment made the ReplicaSet", (*story).rollout, func(s *story) {
			s.write("web", scaled(1))
			s.write("web-2", replicaSet("web", 1))
			s.write("web-2-a", pod("web-2"))
			s.write("web-2-a", ready)
			s.write("web-2", arrived)
			s.write("web", arrived)
		}, false},
		"scaled": {"the change of the ReplicaSet follows that of the Deployment", (*story).rollout, func(s *story) {
			s.write("web", scaled(2))
			s.write("web-1", scaled(2))
			s.write("web-1-b", pod("web-1"))
			s.write("web-1-b", ready)
			s.write("web-1", arrived)
			s.write("web", arrived)
		}, false},
		"scaled to nothing": {"no new dependant shows the order", (*story).rollout, func(s *story) {
			s.write("web", scaled(0))
			s.write("web-1", scaled(0))
			s.write("web-1", arrived)
			s.write("web", arrived)
		}, false},
		"rolled out twice": {"only a watch shows the change behind each object", (*story).rollout, func(s *story) {
			s.write("web", scaled(1))
			s.write("web-2", replicaSet("web", 1))
			s.write("web", scaled(1))
			s.write("web-2-a", pod("web-2"))
			s.write("web-2-a", ready)
			s.write("web-2", arrived)
			s.write("web", arrived)
		}, true},
		"adopted": {"an object from before its owner is not made by it", func(*story) {}, func(s *story) {
			s.write("web-1", replicaSet("web", 0))
			s.write("web-1", arrived)
			s.rv += 100
			s.write("web", deployment(1))
			s.write("web", arrived)
		}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tt.before(s)
			n := len(s.seen)
			tt.during(s)
			var watched []*observation.Observation
			newest := map[types.UID]*observation.Observation{}
			for _, o := range s.seen[n:] {
				found := *o
				found.Listed, found.Seen = true, s.now()
				newest[o.State.UID] = &found
			}
			for _, o := range s.seen[n:] { // a watch brings all of it, late
				brought := *o
				brought.Listed, brought.Late, brought.Seen = true, true, s.now()
				watched = append(watched, &brought)
			}
			watched = append(slices.Clone(s.seen[:n]), watched...)
			after := append([]*observation.Observation(nil), s.seen[:n]...)
			for _, o := range newest {
				after = append(after, o)
			}
			want, got := observe(s.seen), observe(after)
			late := s.now().Add(15 * time.Minute)
			if diff := cmp.Diff(outline(want.Traces(late)), outline(got.Traces(late))); diff != "" && !tt.between {
				t.Errorf("-live +found: %s\n%s", tt.reason, diff)
			}
			if diff := cmp.Diff(outline(want.Traces(late)), outline(observe(watched).Traces(late))); diff != "" {
				t.Errorf("-live +late: %s\n%s", tt.reason, diff)
			}
		})
	}
}

// TestFoundBesideWhatWasSeen: an owner from a list alone comes before its dependants, also in a
// version later than their creation.
func TestFoundBesideWhatWasSeen(t *testing.T) {
	s := newStory()
	s.rollout()
	owner := s.objects["web"].UID
	var seen []*observation.Observation
	var found *observation.Observation
	for _, o := range s.seen {
		if o.State != nil && o.State.UID == owner {
			last := *o
			last.Listed, last.Seen = true, s.now()
			found = &last
			continue
		}
		seen = append(seen, o)
	}
	want, late := observe(s.seen), s.now().Add(15*time.Minute)
	for name, all := range map[string][]*observation.Observation{
		"found last":  append(slices.Clone(seen), found),
		"found first": append([]*observation.Observation{found}, seen...),
	} {
		if diff := cmp.Diff(outline(want.Traces(late)), outline(observe(all).Traces(late))); diff != "" {
			t.Errorf("%s: -live +found:\n%s", name, diff)
		}
	}
}

// TestFoundInACircle: objects without a resourceVersion can own each other in a circle. A recording
// or an aggregated API may have such objects.
func TestFoundInACircle(t *testing.T) {
	s := newStory()
	s.write("a", replicaSet("a", 1))
	s.write("b", replicaSet("a", 1))
	for _, o := range s.seen {
		o.Listed, o.State.ResourceVersion = true, 0
	}
	own := s.objects["a"].Owners[0]
	s.objects["b"].Owners = append(s.objects["b"].Owners, object.Owner{Kind: own.Kind, Name: "b", UID: "uid-b"})
	e := observe(s.seen)
	if n := len(e.Traces(s.now().Add(15 * time.Minute))); n == 0 {
		t.Error("the objects have no trace")
	}
}
