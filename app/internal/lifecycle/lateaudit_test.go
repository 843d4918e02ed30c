// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestLateAuditLog: where events of the audit log come five seconds late, a trace waits for that of its
// first write. It is handed out with the author.
func TestLateAuditLog(t *testing.T) {
	const delay = 5 * time.Second
	s := newStory()
	e := New(Options{Cluster: "test"})
	observe := func(lag time.Duration) {
		for _, o := range s.seen {
			late := *o
			late.Seen = o.Seen.Add(lag)
			e.Observe(&late)
		}
		s.seen = nil
	}
	s.write("web", deployment(0))
	s.write("web", arrived)
	observe(0)
	s.audited("web", "update", func(w *observation.Write) { w.Subresource = "status" })
	observe(delay)
	first := len(e.Take(s.now().Add(time.Minute)))
	s.wait(2 * time.Minute)
	s.write("db", deployment(0))
	s.write("db", arrived)
	observe(0)
	if n := len(e.Take(s.now().Add(4 * time.Second))); first != 1 || n != 0 {
		t.Fatalf("%d traces at first, then %d: want 1, and none before the audit log had its time", first, n)
	}
	s.rv-- // the creation
	s.audited("db", "create")
	observe(delay)
	taken := e.Take(s.now().Add(8 * time.Second))
	if len(taken) != 1 {
		t.Fatalf("%d traces, want 1", len(taken))
	}
	for _, kv := range taken[0].Root().Attributes {
		if kv.Key == "lifeline.actor.user" && kv.Value.AsString() == "jane" {
			return
		}
	}
	t.Errorf("the trace has no author: %v", taken[0].Root().Attributes)
}
