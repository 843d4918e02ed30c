// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestAmendments: an observation after the handing out of its trace starts no trace and is not lost
// (L9).
func TestAmendments(t *testing.T) {
	s := newStory()
	s.rollout()
	missing := 3 // the Pod's binding
	e := New(Options{Cluster: "test"})
	for i, o := range s.seen {
		if i != missing {
			e.Observe(o)
		}
	}
	taken := e.Take(s.now().Add(time.Minute))
	if len(taken) != 1 {
		t.Fatalf("%d traces were taken, want 1", len(taken))
	}
	pod := s.objects["web-1-a"].Ref
	for range 2 {
		e.Observe(s.seen[missing])
	}
	e.Observe(&observation.Observation{Seen: epoch.Add(200 * time.Millisecond), Event: &observation.Event{
		UID:             "e",
		ResourceVersion: 99,
		Regarding:       pod,
		Reason:          "Scheduled",
		Time:            epoch.Add(100 * time.Millisecond),
		Count:           1,
	}})
	amended := e.Amendments()
	if len(amended) != 1 || amended[0].ID != taken[0].ID || len(amended[0].Spans) != 2 {
		t.Fatalf("amended %v, want two spans in trace %s", amended, taken[0].ID)
	}
	known := map[string]bool{}
	for _, sp := range taken[0].Spans {
		known[sp.ID.String()] = true
	}
	for _, sp := range amended[0].Spans {
		if sp.Name != span.NameLate || !known[sp.Parent.String()] || !sp.End.Equal(sp.Start.Time) {
			t.Errorf(
				"span %s, under %s, %s to %s: want a span of no length under one of the trace",
				sp.Name,
				sp.Parent,
				sp.Start,
				sp.End,
			)
		}
	}
	if again := e.Amendments(); len(again) > 0 {
		t.Errorf("amended twice: %v", again)
	}
	if more := append(e.Take(s.now().Add(time.Hour)), e.Traces(s.now().Add(time.Hour))...); len(more) > 0 {
		t.Errorf("what came late started a trace:\n%s", outline(more))
	}
}

// TestAmendedWhileTheNextGoesOn: a late observation of a handed-out trace is not lost while an open
// trace keeps the history of its objects.
func TestAmendedWhileTheNextGoesOn(t *testing.T) {
	s := newStory()
	s.rollout()
	e := New(Options{Cluster: "test"})
	for _, o := range s.seen {
		e.Observe(o)
	}
	first := len(s.seen)
	said := func(uid string, rv uint64) *observation.Observation {
		return &observation.Observation{Seen: s.now(), Event: &observation.Event{
			UID:             uid,
			ResourceVersion: rv,
			Regarding:       s.objects["web-1"].Ref,
			Reason:          "SuccessfulCreate",
			Time:            epoch.Add(500 * time.Millisecond),
			Count:           1,
		}}
	}
	e.Observe(said("told", 110))
	s.rv += 100
	s.write("web", func(st *observation.State) {
		st.Desired++
		st.Generation++
		st.Progress = observation.ProgressInProgress
	})
	for _, o := range s.seen[first:] {
		e.Observe(o)
	}
	taken := e.Take(s.now().Add(time.Second))
	if len(taken) != 1 {
		t.Fatalf("%d traces were taken, want the first", len(taken))
	}
	for range 2 {
		e.Observe(said("late", 111))
		e.Take(s.now().Add(2 * time.Second))
	}
	amended := e.Amendments()
	if len(amended) != 1 || amended[0].ID != taken[0].ID || len(amended[0].Spans) != 1 {
		t.Fatalf("amended %v, want one span in trace %s", amended, taken[0].ID)
	}
}

// TestAmendedByWhatAWatchBringsLate: an Event that a watch brings after an
// outage is not lost; one that a list shows was seen before.
func TestAmendedByWhatAWatchBringsLate(t *testing.T) {
	tests := map[string]struct {
		reason       string
		listed, late bool
		want         int
	}{
		"live":   {"it was never seen", false, false, 1},
		"late":   {"a watch goes on where it was, so it was never seen", true, true, 1},
		"listed": {"a list repeats what was seen and forgotten", true, false, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.rollout()
			e := New(Options{Cluster: "test"})
			for _, o := range s.seen {
				e.Observe(o)
			}
			taken := e.Take(s.now().Add(time.Minute))
			if len(taken) != 1 {
				t.Fatalf("%d traces were taken, want 1", len(taken))
			}
			e.Observe(&observation.Observation{
				Seen:   s.now().Add(time.Hour),
				Listed: tt.listed,
				Late:   tt.late,
				Event: &observation.Event{
					UID:             "e",
					ResourceVersion: 99,
					Regarding:       s.objects["web-1-a"].Ref,
					Reason:          "Scheduled",
					Time:            epoch.Add(100 * time.Millisecond),
					Count:           1,
				},
			})
			if got := e.Amendments(); len(got) != tt.want {
				t.Errorf("amended %v, want %d: %s", got, tt.want, tt.reason)
			}
			if more := e.Take(s.now().Add(2 * time.Hour)); len(more) > 0 {
				t.Errorf("what came late started a trace:\n%s", outline(more))
			}
		})
	}
}
