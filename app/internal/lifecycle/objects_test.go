// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"maps"
	"slices"
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

// TestForgetObjects: an engine that has forgotten a Namespace's objects equals one that never
// observed them.
func TestForgetObjects(t *testing.T) {
	s := newStory()
	s.rollout()
	elsewhere := func(name string) func(*observation.State) {
		return func(st *observation.State) {
			st.Namespace = "elsewhere"
			st.Name = name
		}
	}
	s.write("db", deployment(1), elsewhere("db"))
	s.write("db-1", replicaSet("db", 1), elsewhere("db-1"))
	s.write("db-1-a", pod("db-1"), elsewhere("db-1-a"), bind, ready)
	s.write("db-1", arrived)
	s.write("db", arrived)
	s.rv += 50
	s.write("db-1-a", deleting)
	s.write("db-1-b", pod("db-1"), elsewhere("db-1-b"))
	s.emit(
		observation.Observation{
			Write: &observation.Write{Ref: object.Ref{Namespace: "elsewhere", Name: "bad"}, Code: 403, AuditID: "x"},
		},
	)
	s.write("node-1", ofKind("", "Node"), func(st *observation.State) {
		st.Namespace, st.Node = "elsewhere", &observation.Node{Zone: "z"} // as if a Node had one
	})
	moved := func(r object.Ref) bool { return r.Namespace == "elsewhere" }
	for name, take := range map[string]bool{"with open traces": false, "with traces that were taken": true} {
		t.Run(name, func(t *testing.T) {
			e, never := New(Options{Cluster: "test"}), New(Options{Cluster: "test"})
			for _, o := range s.seen {
				e.Observe(o)
				if !(o.State != nil && moved(o.State.Ref) || o.Write != nil) {
					never.Observe(o)
				}
			}
			if take {
				e.Take(s.now().Add(time.Second))
				never.Take(s.now().Add(time.Second))
			}
			e.Forget(moved)
			end := s.now().Add(time.Minute)
			if diff := cmp.Diff(outline(never.Traces(end)), outline(e.Traces(end))); diff != "" {
				t.Errorf("traces -of one that never saw them +of one that forgot:\n%s", diff)
			}
			if diff := cmp.Diff(
				slices.Sorted(maps.Keys(never.objects)),
				slices.Sorted(maps.Keys(e.objects)),
			); diff != "" {
				t.Errorf("objects -never seen +forgotten:\n%s", diff)
			}
			if len(e.refused)+len(e.nodes) > 0 {
				t.Errorf("%d refused requests and %d nodes are kept", len(e.refused), len(e.nodes))
			}
		})
	}
}
