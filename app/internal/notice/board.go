// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// maxPending bounds the notices that wait for their delivery. Above that the oldest are dropped.
	maxPending = 1000
	// maxTold bounds the remembered changes.
	maxTold = 10_000
	// maxEnded bounds the remembered ended changes: each one is in every saved state.
	maxEnded = 1000
)

// Board decides which notices are due, and keeps them until they are delivered. Its state survives a
// restart. It is safe for concurrent use.
type Board struct {
	after time.Duration

	mu sync.Mutex
	// since has the open changes with a reason, each with the time since when it has one.
	since map[trace.TraceID]time.Time
	// told are the changes with a notice of type Stuck, by that notice.
	told map[trace.TraceID]Notice
	// ended are the latest failed and unfinished changes, by their notices. A new claim about them is told.
	ended map[trace.TraceID]Notice
	// pending are the notices to deliver. The first stored ones are in the store.
	pending []Notice
	stored  int
	// silent is that of the present look.
	silent bool
	// dirty means that the state has changed since the last call of State.
	dirty bool
	// dropped counts the notices dropped from pending.
	dropped int64
	wake    chan struct{}
}

// state is the saved form of a Board.
type state struct {
	Told    []saved `json:"told,omitempty"`
	Ended   []saved `json:"ended,omitempty"`
	Pending []saved `json:"pending,omitempty"`
}

type saved struct {
	ID     string    `json:"id"`
	Type   Type      `json:"type"`
	Time   time.Time `json:"time"`
	Notice Notice    `json:"notice"`
}

// NewBoard returns a Board on which a change counts as stuck after one reason for that long. data is the
// State of an earlier Board, or nil.
func NewBoard(after time.Duration, data []byte) (*Board, error) {
	b := &Board{
		after: after,
		since: map[trace.TraceID]time.Time{},
		told:  map[trace.TraceID]Notice{},
		ended: map[trace.TraceID]Notice{},
		wake:  make(chan struct{}, 1),
	}
	if len(data) == 0 {
		return b, nil
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return b, fmt.Errorf("cannot read the saved notices: %w", err)
	}
	restore(b.told, s.Told)
	restore(b.ended, s.Ended)
	for _, one := range s.Pending {
		b.pending = append(b.pending, one.restore())
	}
	b.Stored()
	return b, nil
}

func restore(to map[trace.TraceID]Notice, all []saved) {
	for _, one := range all {
		n := one.restore()
		if id, err := trace.TraceIDFromHex(n.TraceID); err == nil {
			to[id] = n
		}
	}
}

// sorted returns the saved forms of notices, the oldest first.
func sorted(all map[trace.TraceID]Notice) []saved {
	out := make([]saved, 0, len(all))
	for _, n := range all {
		out = append(out, saved{n.ID, n.Type, n.Time, n})
	}
	slices.SortFunc(out, func(x, y saved) int { return cmp.Or(x.Time.Compare(y.Time), cmp.Compare(x.ID, y.ID)) })
	return out
}

func (s *saved) restore() Notice {
	n := s.Notice
	n.ID, n.Type, n.Time = s.ID, s.Type, s.Time
	return n
}

// Look adds the notices that are due at the time now. open are all open changes, and finished those
// that have ended since the last look. late has the new claims since then. silent means that another server
// tells them: they count as told.
func (b *Board) Look(now time.Time, open, finished, late []*span.Trace, silent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.silent = silent
	for _, t := range finished {
		old, told := b.told[t.ID]
		delete(b.told, t.ID)
		delete(b.since, t.ID)
		switch {
		case failed(t):
			b.add(about(Failed, t, now))
			b.end(t.ID, about(Failed, t, now))
		case t.Outcome == span.Unfinished:
			b.end(t.ID, about(Resolved, t, now))
			if told {
				b.add(resolved(old, about(Resolved, t, now)))
			}
		case told:
			b.add(resolved(old, about(Resolved, t, now)))
		}
	}
	for _, t := range late {
		b.amend(t, now)
	}
	present := map[trace.TraceID]bool{}
	for _, t := range open {
		present[t.ID] = true
		b.wait(t.ID, t, now)
	}
	for id, old := range b.told {
		if !present[id] { // part of another change now
			delete(b.told, id)
			b.add(resolved(old, Notice{Time: now.UTC(), TraceID: old.TraceID, Object: old.Object, Start: old.Start}))
		}
	}
	maps.DeleteFunc(b.since, func(id trace.TraceID, _ time.Time) bool { return !present[id] })
}

// end remembers an ended change with that notice, in place of the oldest one above the bound.
func (b *Board) end(id trace.TraceID, n Notice) {
	b.dirty = true
	if len(b.ended) >= maxEnded {
		oldest := id
		for other, o := range b.ended {
			if oldest == id || o.Time.Before(b.ended[oldest].Time) {
				oldest = other
			}
		}
		delete(b.ended, oldest)
	}
	b.ended[id] = n
}

// amend adds a notice about a new outcome of an ended change: that it has failed after all, or has recovered.
func (b *Board) amend(late *span.Trace, now time.Time) {
	old, known := b.ended[late.ID]
	if !known {
		return
	}
	t := span.Revise(&span.Trace{ID: late.ID, Outcome: old.Outcome, Spans: late.Spans})
	n := old
	n.Time, n.Outcome = now.UTC(), t.Outcome
	switch {
	case t.Outcome == old.Outcome:
		return
	case t.Outcome == span.Failed:
		n.Type, n.ID = Failed, n.TraceID+"/failed"
		for _, s := range late.Spans {
			if s.IsClaim() && s.Outcome == span.Failed {
				n.Reason = s.Object.Kind.Kind + " " + s.Object.Name + " " + s.Message
			}
		}
		if old.Type != Failed {
			b.add(n)
		}
		b.end(late.ID, n)
		return
	case old.Type == Failed:
		n.Type, n.ID = Resolved, n.TraceID+"/recovered"
		b.add(n)
	}
	b.dirty = true
	delete(b.ended, late.ID)
}

// wait adds a notice about an open change, if one is due. A change of its reason does not begin the wait
// again, but a further notice needs a reason that has lasted as long.
func (b *Board) wait(id trace.TraceID, t *span.Trace, now time.Time) {
	reason := category(t)
	old, told := b.told[id]
	if reason == "" {
		delete(b.since, id)
		if told {
			delete(b.told, id)
			b.add(resolved(old, about(Resolved, t, now)))
		}
		return
	}
	begun, known := b.since[id]
	if !known {
		begun = now
	}
	own := now
	if at := since(t.Root()); !at.IsZero() && at.Before(now) {
		own = at
	}
	if own.Before(begun) {
		begun = own
	}
	b.since[id] = begun
	switch {
	case told && (old.Category == reason || now.Sub(own) < b.after),
		now.Sub(begun) < b.after, !told && len(b.told) >= maxTold:
		return
	}
	n := about(Stuck, t, now)
	b.told[id] = n
	b.add(n)
}

// resolved returns n as the end of the notice old.
func resolved(old, n Notice) Notice {
	n.Type, n.ID = Resolved, strings.Replace(old.ID, "/stuck/", "/resolved/", 1)
	if n.Category == "" {
		n.Category = old.Category
	}
	return n
}

// add adds a notice to the pending ones.
func (b *Board) add(n Notice) {
	b.dirty = true
	if b.silent {
		return
	}
	if len(b.pending) >= maxPending {
		b.pending = slices.Delete(b.pending, 0, 1)
		b.stored = max(0, b.stored-1)
		b.dropped++
	}
	b.pending = append(b.pending, n)
}

// State returns the state to save, and whether it differs from that of the last call.
func (b *Board) State() (data []byte, changed bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed, b.dirty = b.dirty, false
	var s state
	s.Told, s.Ended = sorted(b.told), sorted(b.ended)
	for _, n := range b.pending {
		s.Pending = append(s.Pending, saved{n.ID, n.Type, n.Time, n})
	}
	data, err = json.Marshal(s)
	return data, changed, err
}

// Changed reports whether State has something new.
func (b *Board) Changed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dirty
}

// Stored reports that the last State is in the store, with the traces of its notices. Only then are they
// delivered, so that a receiver can read the trace.
func (b *Board) Stored() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stored = len(b.pending)
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Next returns the oldest notice to deliver; ok is false if there is none.
func (b *Board) Next() (n Notice, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stored == 0 || len(b.pending) == 0 {
		return Notice{}, false
	}
	return b.pending[0], true
}

// Done removes a delivered or refused notice.
func (b *Board) Done(n Notice) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.pending, func(p Notice) bool { return p.ID == n.ID && p.Time.Equal(n.Time) })
	if i < 0 {
		return // dropped meanwhile
	}
	b.pending = slices.Delete(b.pending, i, i+1)
	if i < b.stored {
		b.stored--
	}
	b.dirty = true
}

// Waiting returns the number of pending notices, and that of the notices dropped so far.
func (b *Board) Waiting() (pending int, dropped int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.pending), b.dropped
}
