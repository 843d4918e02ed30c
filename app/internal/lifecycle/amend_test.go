// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestAmendments: what comes after its trace was taken starts no trace and is
// not lost (L9).
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
		UID: "e", ResourceVersion: 99, Regarding: pod, Reason: "Scheduled", Time: epoch.Add(100 * time.Millisecond), Count: 1,
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
		if sp.Name != "amend" || !known[sp.Parent.String()] || !sp.End.Equal(sp.Start.Time) {
			t.Errorf("span %s, under %s, %s to %s: want a span of no length under one of the trace", sp.Name, sp.Parent, sp.Start, sp.End)
		}
	}
	if again := e.Amendments(); len(again) > 0 {
		t.Errorf("amended twice: %v", again)
	}
	if more := append(e.Take(s.now().Add(time.Hour)), e.Traces(s.now().Add(time.Hour))...); len(more) > 0 {
		t.Errorf("what came late started a trace:\n%s", outline(more))
	}
}
