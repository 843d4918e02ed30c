// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// sent returns a request with that audit ID and verb.
func sent(id, verb string, edits ...func(*observation.Write)) *observation.Write {
	q := &observation.Write{AuditID: id, Verb: verb, Start: at(1), End: at(2)}
	for _, e := range edits {
		e(q)
	}
	return q
}

// TestSight: an audit ID identifies one request. Two different requests with it contradict each other.
func TestSight(t *testing.T) {
	type result struct{ Again, Contradicted bool }
	cases := map[string]struct {
		reason string
		sent   []*observation.Write
		want   result // of the last request
		twice  bool   // the ID of the last request is contradicted
	}{
		"new":   {"the request was not observed", []*observation.Write{sent("a", "create")}, result{}, false},
		"other": {"the IDs differ", []*observation.Write{sent("a", "create"), sent("b", "create")}, result{}, false},
		"again": {"the same request came twice", []*observation.Write{sent("a", "create"), sent("a", "create")},
			result{Again: true}, false},
		"contradicted": {"one ID, two requests", []*observation.Write{sent("a", "create"), sent("a", "delete")},
			result{Contradicted: true}, true},
		"third": {"the ID is in doubt already",
			[]*observation.Write{sent("a", "create"), sent("a", "delete"), sent("a", "patch")}, result{}, true},
		"first again": {"the first request came again",
			[]*observation.Write{sent("a", "create"), sent("a", "delete"), sent("a", "create")}, result{Again: true},
			true},
		"no ID": {"the content identifies the request",
			[]*observation.Write{sent("", "create"), sent("", "create")}, result{Again: true}, false},
		"no ID, other": {"the content differs", []*observation.Write{sent("", "create"), sent("", "delete")},
			result{}, false},
		"forged": {"a source that accepts any sender contradicts no other one",
			[]*observation.Write{sent("a", "create"), sent("a", "delete", forged)}, result{}, false},
		"forged twice": {"two such requests contradict each other",
			[]*observation.Write{sent("a", "create", forged), sent("a", "delete", forged)},
			result{Contradicted: true}, true},
		"authentic": {"the forged request is in doubt, the other one is not",
			[]*observation.Write{sent("a", "create", forged), sent("a", "delete", forged), sent("a", "create")},
			result{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, got := newWorld(), result{}
			for _, q := range tc.sent {
				got.Again, got.Contradicted = w.Sight(q)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if got := w.Contradicted(tc.sent[len(tc.sent)-1]); got != tc.twice {
				t.Errorf("%s: contradicted %t, want %t", tc.reason, got, tc.twice)
			}
		})
	}
}

// TestContent: each field that every level of the audit log has is part of the content.
func TestContent(t *testing.T) {
	for name, edit := range map[string]func(*observation.Write){
		"group":        func(q *observation.Write) { q.Group = "x" },
		"resource":     func(q *observation.Write) { q.Resource = "x" },
		"subresource":  func(q *observation.Write) { q.Subresource = "x" },
		"namespace":    func(q *observation.Write) { q.Namespace = "x" },
		"verb":         func(q *observation.Write) { q.Verb = "x" },
		"user":         func(q *observation.Write) { q.User = "x" },
		"impersonator": func(q *observation.Write) { q.Impersonator = "x" },
		"agent":        func(q *observation.Write) { q.UserAgent = "x" },
		"start":        func(q *observation.Write) { q.Start = at(1.5) },
		"end":          func(q *observation.Write) { q.End = at(1.5) },
		"code":         func(q *observation.Write) { q.Code = 409 },
	} {
		if contentOf(sent("a", "create")) == contentOf(sent("a", "create", edit)) {
			t.Errorf("%s: not part of the content", name)
		}
	}
	// Only the levels with bodies have these.
	body := func(q *observation.Write) { q.ResourceVersion, q.UID, q.Name = 7, "uid", "web" }
	if contentOf(sent("a", "create")) != contentOf(sent("a", "create", body)) {
		t.Error("the response body is part of the content")
	}
}

// TestSightings: the digests are bounded. The oldest ones go first.
func TestSightings(t *testing.T) {
	w := newWorld()
	id := func(i int) *observation.Write { return sent(fmt.Sprint(i), "create") }
	const n = MaxSightings + 10
	for i := range n {
		w.Sight(id(i))
	}
	if _, _, got := w.Size(); got > MaxSightings || got < MaxSightings/2 {
		t.Errorf("got %d digests, want at most %d and at least half of them", got, MaxSightings)
	}
	if again, _ := w.Sight(id(n - MaxSightings/2)); !again {
		t.Error("the newest half is not complete")
	}
	if again, _ := w.Sight(id(0)); again {
		t.Error("the oldest digest was kept")
	}
}

// TestSightingsContradicted: contradictions keep the bound, too.
func TestSightingsContradicted(t *testing.T) {
	w, most := newWorld(), 0
	const n = MaxSightings - 2 // the older generation is full, and the younger one nearly
	for _, verb := range []string{"create", "delete"} {
		for i := range n {
			w.Sight(sent(fmt.Sprint(i), verb))
			_, _, now := w.Size()
			most = max(most, now)
		}
	}
	if most > MaxSightings {
		t.Errorf("got %d digests, want at most %d", most, MaxSightings)
	}
}

// TestContradictedEarlier: an older digest contradicts a request, too.
func TestContradictedEarlier(t *testing.T) {
	w := newWorld()
	w.Sight(sent("a", "create"))
	w.turnSightings()
	if again, _ := w.Sight(sent("a", "create")); !again {
		t.Error("the request was not known any more")
	}
	if _, contradicted := w.Sight(sent("a", "delete")); !contradicted || !w.Contradicted(sent("a", "create")) {
		t.Error("the request was not contradicted")
	}
	w.turnSightings()
	if !w.Contradicted(sent("a", "create")) {
		t.Error("the contradiction was forgotten with the older generation")
	}
}

// TestDoubt: a contradiction makes the joins by the audit ID invalid.
func TestDoubt(t *testing.T) {
	w := newWorld()
	web := w.put("uid", 10, 12)
	q := w.attach(web, "patch", 12)
	w.Sight(q)
	if got := w.Audited(write(web, 12)); got == nil || got.Write != q {
		t.Fatalf("got %+v, want the request", got)
	}
	other := request(web, "delete", 12)
	other.AuditID = q.AuditID
	w.Sight(other)
	if got := w.Audited(write(web, 12)); got != nil {
		t.Errorf("got %+v by an audit ID of two requests", got)
	}
	if got := w.Stats().Contradicted; got != 1 {
		t.Errorf("counted %d contradicted audit IDs, want 1", got)
	}
}
