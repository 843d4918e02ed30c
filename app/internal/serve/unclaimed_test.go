// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/shard"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

func TestUnclaimed(t *testing.T) {
	// b has taken over what begins at 20; a finishes what it has.
	both := shard.Table{
		Version: 1,
		Epochs:  []shard.Epoch{{ID: 1, From: 1, Members: []string{"a"}}, {ID: 2, From: 20, Members: []string{"b"}}},
	}
	gone := func(since uint64) shard.Table {
		t := both
		t.Version, t.Epochs, t.Parted = 2, slices.Clone(both.Epochs), []shard.Parted{{Identity: "a", Complete: 25}}
		t.Epochs[0].Gone = []shard.Gone{{Identity: "a", Since: since, Version: 2}}
		return t
	}
	done := shard.Table{Version: 3, Epochs: both.Epochs[1:], Parted: gone(20).Parted}
	leaving := shard.Table{Version: 3, Epochs: both.Epochs[1:]}
	stays := shard.Table{Version: 3, Epochs: []shard.Epoch{{ID: 3, From: 20, Members: []string{"a", "b"}}}}
	now := time.Unix(1_800_000_000, 0)
	trace := &span.Trace{ID: [16]byte{1}, Spans: []*span.Span{
		{
			ID:     [8]byte{1},
			Object: object.Ref{Namespace: "web"},
			Events: []span.Event{
				{Time: now, Name: span.EventWrite, Attributes: []attribute.KeyValue{span.KeyRV.Int64(15)}},
			},
		},
	}}
	for name, c := range map[string]struct {
		reason  string
		then    shard.Table
		after   time.Duration
		claimed int
		kept    int
		// late: an amendment is this server's.
		late bool
	}{
		"it lives": {reason: "the owner may still go", then: both, after: time.Second, kept: 1},
		"it went before": {
			reason:  "no other server has the trace",
			then:    gone(10),
			after:   time.Second,
			claimed: 1,
			kept:    1,
			late:    true,
		},
		"it went when it was done": {
			reason: "the owner had stored it; late amendments have no other server",
			then:   gone(20),
			after:  time.Second,
			kept:   1,
			late:   true,
		},
		"it is done and gone": {
			reason: "late amendments have no other server",
			then:   done,
			after:  time.Second,
			kept:   1,
			late:   true,
		},
		"it is done and still there": {
			reason: "the server with the trace stores late amendments",
			then:   leaving,
			after:  time.Second,
			kept:   1,
		},
		"it is done and stays": {
			reason: "the server with the trace stores late amendments",
			then:   stays,
			after:  time.Second,
			kept:   1,
		},
		"it lives on": {reason: "by then it has stored it", then: both, after: claimable + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			share := func(table shard.Table) share {
				v := shard.NewView(table, "b", true)
				return share{part: v.Mine, others: v.Others, succeeds: v.Succeeds}
			}
			var u unclaimed
			u.keep([]*span.Trace{trace}, share(both), now)
			if len(u) != 1 {
				t.Fatal("another server's trace is not kept")
			}
			for id, rv := range map[byte]int64{3: 24, 4: 26} { // before its end, and before that is known
				s := &span.Span{
					TraceID:    trace.ID,
					ID:         [8]byte{id},
					Object:     trace.Spans[0].Object,
					Attributes: []attribute.KeyValue{span.KeyRV.Int64(rv)},
				}
				if u.leaves(share(both), s) {
					t.Error("another server's amendment is returned")
				}
				u.hold(s)
			}
			released := u.release(share(c.then))
			if (len(released) == 1 && len(released[0].Spans) == 1 && released[0].Spans[0].ID == [8]byte{4}) != c.late {
				t.Errorf("%s: %v of the held amendments are released", c.reason, released)
			}
			if again := u.release(share(c.then)); len(again) > 0 {
				t.Errorf("%v are released twice", again)
			}
			claimed := u.claim(share(c.then), now.Add(c.after))
			if len(claimed) != c.claimed || len(u) != c.kept {
				t.Errorf("%s: %d claimed, %d kept, want %d and %d", c.reason, len(claimed), len(u), c.claimed, c.kept)
			}
			for what, amendment := range map[string]*span.Span{
				"an amendment": {TraceID: trace.ID, Object: trace.Spans[0].Object},
				"a joined span": {
					TraceID: trace.ID,
					ID:      [8]byte{2},
					Parent:  trace.Spans[0].ID,
					Origin:  &span.Origin{},
				},
			} {
				if late := u.leaves(share(c.then), amendment); late != c.late {
					t.Errorf("%s: %s is released: %t, want %t", c.reason, what, late, c.late)
				}
			}
		})
	}
}
