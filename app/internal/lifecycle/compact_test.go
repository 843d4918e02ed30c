// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestTake takes the settled traces after every observation. Each trace is handed out once, with
// its late spans, and equals that of an engine that forgets nothing. So earlier handing out does
// not change open traces.
func TestTake(t *testing.T) {
	stories := map[string]struct {
		reason string
		seen   []*observation.Observation
	}{
		"healing": {
			"a Pod is healed while another Deployment's trace ends",
			func() []*observation.Observation {
				s := newStory()
				s.rollout()
				s.rv += 20
				s.write("web-1-a", deleting)
				s.write("web-1-b", pod("web-1"))
				s.write("web-1", func(st *observation.State) { st.Workload.Available = 0 })
				s.write("db", deployment(0))
				s.write("db", arrived)
				s.rv += 20
				s.write("web-1-b", bind)
				s.write("web-1-b", ready)
				s.write("web-1", arrived)
				s.gone("web-1-a")
				return s.seen
			}(),
		},
		"scaling": {
			"which Pods were too many is not forgotten while the last of them ends",
			func() []*observation.Observation {
				s := newStory()
				s.write("web", deployment(3))
				s.write("web-1", replicaSet("web", 3))
				for _, name := range []string{"a", "b", "c"} {
					s.write(name, pod("web-1"), bind, ready)
				}
				s.write("web-1", arrived)
				s.write("web", arrived)
				s.rv += 20
				s.write("web", scaled(1))
				s.write("web-1", scaled(1))
				s.write("a", deleting)
				s.write("b", deleting)
				s.write("web-1", arrived)
				s.write("c", func(st *observation.State) { st.ObservedGeneration = st.Generation })
				s.write("db", deployment(0))
				s.write("db", arrived)
				s.rv += 20
				s.gone("a")
				s.gone("b")
				s.write("web", arrived)
				return s.seen
			}(),
		},
	}
	paths, err := filepath.Glob("testdata/*.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		stories[filepath.Base(path)] = struct {
			reason string
			seen   []*observation.Observation
		}{"a recording", read(t, path)}
	}
	for name, tt := range stories {
		t.Run(name, func(t *testing.T) {
			takeAsSeen(t, tt.reason, tt.seen)
		})
	}
}

// takeAsSeen takes the settled traces after every observation, and compares them with those of an
// engine that forgets nothing.
func takeAsSeen(t *testing.T, reason string, seen []*observation.Observation) {
	t.Helper()
	whole, e := New(Options{Cluster: "test"}), New(Options{Cluster: "test"})
	all := map[string]*span.Trace{}
	take := func(now time.Time) {
		for _, tr := range e.Take(now) {
			if _, twice := all[tr.ID.String()]; twice {
				t.Errorf("trace %s was taken twice", tr.ID)
			}
			copied := *tr
			all[tr.ID.String()] = &copied
		}
		for _, late := range e.Amendments() {
			if of := all[late.ID.String()]; of != nil && slices.ContainsFunc(late.Spans, isLate) {
				of.Spans = span.TreeOrder(slices.Concat(of.Spans, late.Spans))
			}
		}
	}
	for _, o := range seen {
		take(o.Seen.Add(-time.Nanosecond))
		whole.Observe(o)
		e.Observe(o)
	}
	end := seen[len(seen)-1].Seen.Add(2 * time.Hour)
	take(end)
	want, taken := map[string]string{}, map[string]string{}
	for id, tr := range all {
		taken[id] = outline([]*span.Trace{tr})
	}
	for _, tr := range whole.Traces(end) {
		want[tr.ID.String()] = outline([]*span.Trace{tr})
	}
	if diff := cmp.Diff(want, taken); diff != "" {
		t.Errorf("%s: traces taken -want +got:\n%s", reason, diff)
	}
	if left := e.Traces(end); len(left) > 0 {
		t.Errorf("%s: left after all was taken:\n%s", reason, outline(left))
	}
}

// isLate reports whether the span was added to a trace that had been handed out.
func isLate(s *span.Span) bool {
	return slices.ContainsFunc(s.Attributes, func(kv attribute.KeyValue) bool { return kv.Key == span.KeyLate })
}

// TestForget: the engine keeps no history of converged objects, and nothing of objects deleted long ago.
func TestForget(t *testing.T) {
	s := newStory()
	s.rollout()
	s.write("lock", ofKind("", "ConfigMap"), func(st *observation.State) { st.Reconciled = false })
	for range 100 {
		s.write("lock", func(st *observation.State) { st.Desired++ })
	}
	s.emit(observation.Observation{Event: &observation.Event{ResourceVersion: 7, Regarding: s.objects["web"].Ref}})
	stranger := s.objects["web"].Ref
	stranger.UID = "nobody"
	s.emit(observation.Observation{Event: &observation.Event{ResourceVersion: 8, Regarding: stranger}})
	s.rv += 10
	s.write("web-1-a", deleting)
	s.gone("web-1-a")
	e := observe(s.seen)
	if len(e.Take(s.now().Add(time.Minute))) == 0 {
		t.Fatal("nothing was taken")
	}
	later := s.now().Add(2 * time.Hour)
	e.Take(later)
	e.Take(later.Add(2 * maxAge))
	for uid, o := range e.index.Objects() {
		if len(o.Versions) != 1 || len(o.Events)+len(o.Requests()) > 0 {
			t.Errorf(
				"%s: %d versions, %d events and %d requests are kept",
				uid,
				len(o.Versions),
				len(o.Events),
				len(o.Requests()),
			)
		}
	}
	for _, gone := range []string{"uid-web-1-a", "nobody"} {
		if e.index.Objects()[types.UID(gone)] != nil {
			t.Errorf("%s is kept", gone)
		}
	}
	if len(e.memory.taken) > 0 {
		t.Errorf("%d traces are still remembered as taken", len(e.memory.taken))
	}
}

// TestHoursLater: a repeated change is separate, also after the engine has forgotten the earlier one.
func TestHoursLater(t *testing.T) {
	const none = "Node node-1:  "
	for name, tc := range map[string]struct {
		audit bool
		want  []string
	}{
		"Watch": {false, []string{"Node node-1: user-a ", none, "Node node-1: user-b ", none}},
		"Audit log": {true, []string{
			"Node node-1: kubectl user-a", "Node node-1: kubectl user-a",
			"Node node-1: kubectl user-b", "Node node-1: kubectl user-b",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("node-1", aNode)
			s.wait(time.Minute)
			s.before()
			for _, user := range []string{"user-a", "user-b"} {
				for _, cordon := range []bool{true, false} {
					if cordon {
						s.write("node-1", set(unschedulable), by(user))
					} else {
						s.write("node-1", drop(unschedulable))
					}
					if tc.audit {
						s.audited("node-1", "patch", person(user))
					}
					s.wait(3 * time.Hour)
				}
			}
			taken := compacted(t, s)
			if diff := cmp.Diff(tc.want, authorsOf(taken)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			ids := map[string]bool{}
			for _, tr := range taken {
				ids[tr.ID.String()] = true
			}
			if len(ids) != 4 {
				t.Errorf("%d IDs of four changes", len(ids))
			}
		})
	}
}

// TestDeletionHoursLater: a person deletes an unwanted object of a controller after the engine has forgotten the
// change that made it.
func TestDeletionHoursLater(t *testing.T) {
	s := newStory()
	s.write("web", deployment(0), func(st *observation.State) { st.Workload.HistoryLimit = 10 })
	for _, name := range []string{"web-1", "web-2"} {
		s.write(name, replicaSet("web", 0))
		s.write(name, arrived)
	}
	s.write("web", arrived)
	s.wait(3 * time.Hour)
	s.gone("web-1")
	s.audited("web-1", "delete", person("user-a"), func(w *observation.Write) { w.ResourceVersion = 0 })
	taken := compacted(t, s)
	want := []string{"Deployment web: kubectl ", "ReplicaSet web-1: kubectl user-a"}
	if diff := cmp.Diff(want, authorsOf(taken)); diff != "" || taken[0].ID == taken[1].ID {
		t.Errorf("-want +got:\n%s\n%s", diff, outline(taken))
	}
}

// compacted returns the traces of a server that looks each 5 s. It fails the test unless all changes are
// forgotten after each pause of hours.
func compacted(t *testing.T, s *story) []*span.Trace {
	t.Helper()
	e, at := New(Options{Cluster: "test"}), s.seen[0].Seen
	var taken []*span.Trace
	look := func(until time.Time) {
		for ; at.Before(until); at = at.Add(5 * time.Second) {
			taken = append(taken, e.Take(at)...)
		}
	}
	for i, o := range s.seen {
		look(o.Seen)
		if i > 0 && o.Seen.Sub(s.seen[i-1].Seen) > time.Hour {
			for uid, object := range e.index.Objects() {
				if len(object.Versions) != 1 {
					t.Errorf("%d versions of %s are kept", len(object.Versions), uid)
				}
			}
		}
		e.Observe(o)
	}
	look(s.now().Add(time.Minute))
	return taken
}
