// SPDX-License-Identifier: Apache-2.0

// Package view answers questions about all traces of a server, wherever they are: the open traces
// of the last stored look, the finished ones in the pending log, and those in the archive.
//
// A trace moves in this order. A reader takes the first two at one moment and asks the archive
// afterwards, so it misses none. A trace in two places counts once. The engine is never asked.
//
// Without the archive, lists have what is in memory and say that they are incomplete.
package view

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// maxHeld bounds the spans of the pending log that stay in memory. The others are read from the
// journal.
const maxHeld = 50_000

// View is a store.Reader and store.Finder of all traces. It is safe for concurrent use.
type View struct {
	// read returns the trace of an entry of the log.
	read func(ctx context.Context, seq uint64) (*span.Trace, error)
	// archive returns the archive, or the error that it is unavailable with.
	archive func() (store.Reader, error)
	// Cluster is the cluster of all traces, for scopes. It must not change after the first question.
	Cluster string

	present atomic.Pointer[moment]
	// begun is closed by the first Publish.
	begun chan struct{}
	once  sync.Once
	// changing is held while the present moment is replaced.
	changing sync.Mutex

	questions *store.Limiter
	// archiveTime and briefTime are the constants of that name; tests change them.
	archiveTime, briefTime time.Duration
}

var _ store.Reader = (*View)(nil)

// New returns a View without a first moment. Read returns the trace of an entry of the log.
// Archive returns the archive, or an error that wraps store.ErrUnavailable.
func New(
	read func(ctx context.Context, seq uint64) (*span.Trace, error), archive func() (store.Reader, error),
) *View {
	return &View{
		read: read, archive: archive, begun: make(chan struct{}),
		questions: store.NewLimiter(), archiveTime: archiveTime, briefTime: briefTime,
	}
}

// Begun is closed after the first look.
func (v *View) Begun() <-chan struct{} { return v.begun }

// moment is what is in memory after one look or one batch of the archive. It never changes.
type moment struct {
	asOf time.Time
	open map[trace.TraceID]*held
	// pending are the entries of the log that are not archived, by number, in order; finished and
	// amended find them by trace. repeated are further finished versions.
	pending  []*held
	finished map[trace.TraceID]*held
	repeated map[trace.TraceID][]*held
	amended  map[trace.TraceID][]*held
	// spans counts the spans of pending in memory.
	spans int
	// replaced is closed when this is not the present moment any more.
	replaced chan struct{}
}

// held is an open trace, or an entry of the log.
type held struct {
	journal.Item
	open bool
	// trace is nil if it must be read from the journal.
	trace *span.Trace

	// mu guards summary, which is made once.
	mu      sync.Mutex
	summary *store.Summary
}

// load returns the trace.
func (v *View) load(ctx context.Context, h *held) (*span.Trace, error) {
	if h.trace != nil {
		return h.trace, nil
	}
	return v.read(ctx, h.Seq)
}

// summarize returns the summary. An error is store.ErrNotFound for an entry that has left the log
// meanwhile.
func (v *View) summarize(ctx context.Context, h *held) (*store.Summary, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.summary != nil {
		return h.summary, nil
	}
	t, err := v.load(ctx, h)
	if err != nil {
		return nil, err
	}
	sum := store.Summarize(t, h.AsOf)
	sum.Open, sum.AsOf, sum.Revision = h.open, h.AsOf, h.Revision
	h.summary = &sum
	return h.summary, nil
}

// Publish replaces the open traces by those of a stored look, and adds its entries of the log. The
// traces must not change afterwards. An open trace that is the same pointer as before keeps its time.
func (v *View) Publish(asOf time.Time, revision int64, open []*span.Trace, entries []*journal.Entry) {
	v.changing.Lock()
	defer v.changing.Unlock()
	was := v.present.Load()
	if was == nil {
		was = &moment{}
	}
	next := &moment{asOf: asOf, open: make(map[trace.TraceID]*held, len(open)), pending: was.pending}
	for _, t := range open {
		if h := was.open[t.ID]; h != nil && h.trace == t {
			next.open[t.ID] = h
			continue
		}
		next.open[t.ID] = &held{
			Item: journal.Item{
				Revision: revision,
				AsOf:     asOf,
				TraceID:  t.ID,
				Spans:    len(t.Spans),
			},
			open:  true,
			trace: t,
		}
	}
	next.spans, next.finished, next.repeated, next.amended = was.spans, was.finished, was.repeated, was.amended
	if len(entries) > 0 {
		next.pending = slices.Clone(was.pending)
	}
	for _, e := range entries {
		if e.For&journal.Archive == 0 {
			continue
		}
		h := &held{Item: e.Item}
		if next.spans+e.Spans <= maxHeld {
			h.trace = e.Trace
			next.spans += e.Spans
		}
		next.pending = append(next.pending, h)
	}
	if len(next.pending) > len(was.pending) {
		next.index()
	}
	v.replace(next)
	v.once.Do(func() { close(v.begun) })
}

// Restore adds the entries of the log that an earlier process left. It comes before the first
// Publish, and publishes nothing.
func (v *View) Restore(items []journal.Item) {
	v.changing.Lock()
	defer v.changing.Unlock()
	next := &moment{}
	for _, i := range items {
		next.pending = append(next.pending, &held{Item: i})
	}
	next.index()
	v.replace(next)
}

// replace makes next the present moment. Changing is held.
func (v *View) replace(next *moment) {
	next.replaced = make(chan struct{})
	if was := v.present.Swap(next); was != nil {
		close(was.replaced)
	}
}

// Archived removes entries of the log that are in the archive now, or lost.
func (v *View) Archived(seqs []uint64) {
	v.changing.Lock()
	defer v.changing.Unlock()
	was := v.present.Load()
	if was == nil || len(seqs) == 0 {
		return
	}
	next := *was
	next.pending = make([]*held, 0, len(was.pending))
	gone := make(map[uint64]bool, len(seqs))
	for _, seq := range seqs {
		gone[seq] = true
	}
	for _, h := range was.pending {
		if !gone[h.Seq] {
			next.pending = append(next.pending, h)
		} else if h.trace != nil {
			next.spans -= h.Spans
		}
	}
	next.index()
	v.replace(&next)
}

// Entry returns the trace of an entry of the log.
func (v *View) Entry(ctx context.Context, seq uint64) (*span.Trace, error) {
	if m := v.present.Load(); m != nil {
		i, there := slices.BinarySearchFunc(
			m.pending,
			seq,
			func(h *held, seq uint64) int { return cmp.Compare(h.Seq, seq) },
		)
		if there && m.pending[i].trace != nil {
			return m.pending[i].trace, nil
		}
	}
	return v.read(ctx, seq)
}

// Held returns the entries of the log that are in memory, for a journal that was lost.
func (v *View) Held() []*journal.Entry {
	m := v.present.Load()
	if m == nil {
		return nil
	}
	var out []*journal.Entry
	for _, h := range m.pending {
		if h.trace != nil {
			out = append(out, &journal.Entry{Item: h.Item, Trace: h.trace})
		}
	}
	return out
}

func (m *moment) index() {
	m.finished, m.amended = map[trace.TraceID]*held{}, map[trace.TraceID][]*held{}
	m.repeated = map[trace.TraceID][]*held{}
	for _, h := range m.pending {
		switch {
		case h.Amends:
			m.amended[h.TraceID] = append(m.amended[h.TraceID], h)
		case m.finished[h.TraceID] == nil: // the first version is valid
			m.finished[h.TraceID] = h
		default:
			m.repeated[h.TraceID] = append(m.repeated[h.TraceID], h)
		}
	}
}

// live returns the trace in memory; nil if there is none. A finished one wins over an open one.
func (m *moment) live(id trace.TraceID) *held {
	if h := m.finished[id]; h != nil {
		return h
	}
	return m.open[id]
}

// traces returns the traces in memory, each once.
func (m *moment) traces() []*held {
	out := make([]*held, 0, len(m.open)+len(m.finished))
	for _, h := range m.finished {
		out = append(out, h)
	}
	for id, h := range m.open {
		if m.finished[id] == nil {
			out = append(out, h)
		}
	}
	return out
}

// now returns the present moment. Before the first look there is none.
func (v *View) now() (*moment, error) {
	m := v.present.Load()
	if m == nil || m.asOf.IsZero() {
		return nil, fmt.Errorf("%w: the server has just started, ask again in a moment", store.ErrUnavailable)
	}
	return m, nil
}

// Trace implements store.Reader.
func (v *View) Trace(ctx context.Context, s store.Scope, id trace.TraceID) (*store.Record, error) {
	m, err := v.now()
	if err != nil {
		return nil, err
	}
	s, permitted := s.In(v.Cluster)
	if !permitted {
		return nil, store.ErrNotFound
	}
	r, err := v.whole(ctx, m, s, id)
	if err == nil && !s.PermitsTrace(r.Trace) { // also by its parts in the log
		return nil, store.ErrNotFound
	}
	return r, err
}

// whole returns a trace with all its parts. Only the archive applies the scope.
func (v *View) whole(ctx context.Context, m *moment, s store.Scope, id trace.TraceID) (*store.Record, error) {
	if h := m.live(id); h != nil {
		r, err := v.record(ctx, h)
		if err == nil && !h.open {
			r, err = v.earlier(ctx, r)
		}
		if !missing(err) {
			return v.amend(ctx, m, r, err)
		}
	}
	archive, err := v.archive()
	if err != nil {
		return nil, err
	}
	r, err := archive.Trace(ctx, s, id)
	if errors.Is(err, store.ErrClosed) {
		err = fmt.Errorf("%w: it was lost just now, ask again in a moment", store.ErrUnavailable)
	}
	return v.amend(ctx, m, r, err)
}

func (v *View) record(ctx context.Context, h *held) (*store.Record, error) {
	t, err := v.load(ctx, h)
	if err != nil {
		return nil, err
	}
	sum, err := v.summarize(ctx, h)
	if err != nil {
		return nil, err
	}
	one := *t
	one.Spans = slices.Clone(t.Spans)
	return &store.Record{Summary: *sum, Trace: &one}, nil
}

// earlier adds the archive's version of a finished trace in the log. Every span of either is kept;
// the version of the lower revision is valid. After an error of the archive the log's version is the
// answer.
func (v *View) earlier(ctx context.Context, r *store.Record) (*store.Record, error) {
	archive, err := v.archive()
	if err != nil {
		return r, nil //nolint:nilerr // the log's version is there
	}
	other, err := archive.Trace(ctx, store.Scope{}, r.ID)
	if ended := context.Cause(ctx); err != nil && ended != nil {
		return nil, ended
	}
	if err != nil {
		return r, nil //nolint:nilerr // the log's version is there
	}
	if other.Revision <= r.Revision {
		r, other = other, r
	}
	join(r, other.Trace)
	return r, nil
}

// join adds the spans with new IDs to a record.
func join(r *store.Record, further ...*span.Trace) {
	known := make(map[trace.SpanID]bool, len(r.Trace.Spans))
	for _, s := range r.Trace.Spans {
		known[s.ID] = true
	}
	for _, t := range further {
		for _, s := range t.Spans {
			if !known[s.ID] {
				known[s.ID] = true
				r.Trace.Spans = append(r.Trace.Spans, s)
			}
		}
	}
	r.Spans = len(r.Trace.Spans)
}

// amend adds the spans of the log to a record.
func (v *View) amend(ctx context.Context, m *moment, r *store.Record, err error) (*store.Record, error) {
	if err != nil {
		return r, err
	}
	var further []*span.Trace
	for _, h := range slices.Concat(m.repeated[r.ID], m.amended[r.ID]) {
		t, err := v.load(ctx, h)
		if missing(err) {
			continue // the archive has it, and had it or has it at the next question
		}
		if err != nil {
			return nil, err
		}
		further = append(further, t)
	}
	if len(further) > 0 {
		join(r, further...)
	}
	return r, nil
}

// Between implements store.Reader.
func (v *View) Between(
	ctx context.Context, s store.Scope, low, high trace.TraceID, limit int,
) ([]trace.TraceID, error) {
	m, hidden, err := v.begin(ctx, &s)
	if err != nil {
		return nil, err
	}
	archive, err := v.archive()
	if err != nil {
		archive = nil // what is in memory can still be found
	}
	var out []trace.TraceID
	if archive != nil {
		if out, err = archive.Between(ctx, s, low, high, limit+len(hidden)); err != nil {
			return nil, err
		}
	}
	for _, h := range m.traces() {
		if bytes.Compare(h.TraceID[:], low[:]) >= 0 && bytes.Compare(h.TraceID[:], high[:]) <= 0 {
			out = append(out, h.TraceID)
		}
	}
	if len(out) == 0 && archive == nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(id trace.TraceID) bool { return hidden[id] })
	slices.SortFunc(out, func(a, b trace.TraceID) int { return bytes.Compare(a[:], b[:]) })
	out = slices.Compact(out)
	return out[:min(limit, len(out))], nil
}

// Stats implements store.Reader. Without the archive it counts what is in memory.
func (v *View) Stats(ctx context.Context, s store.Scope) (store.Stats, error) {
	m, hidden, err := v.begin(ctx, &s)
	if err != nil {
		return store.Stats{}, err
	}
	var out store.Stats
	if archive, err := v.archive(); err == nil {
		if out, err = archive.Stats(ctx, s); err != nil {
			return out, err
		}
		for id := range hidden { // the archive may permit what the log adds to
			if r, err := archive.Trace(ctx, s, id); err == nil {
				out.Traces, out.Spans = out.Traces-1, out.Spans-int64(r.Spans)
				for _, of := range r.Trace.Spans {
					out.Writes -= int64(len(store.WritesOf(of)))
				}
			}
		}
	}
	for _, h := range m.traces() {
		if hidden[h.TraceID] {
			continue
		}
		out.Traces++
		if h.open {
			out.Open++
		}
		out.Spans += int64(h.Spans)
		if h.trace == nil {
			continue
		}
		if start := store.Start(h.trace); out.Oldest.IsZero() || start.Before(out.Oldest) {
			out.Oldest = start
		}
	}
	return out, nil
}

// Causes implements store.Reader. Without the archive it has the edges in memory, if the trace is.
func (v *View) Causes(ctx context.Context, s store.Scope, id trace.TraceID) ([]store.Cause, error) {
	if !s.All() {
		switch _, err := v.Trace(ctx, s, id); {
		case errors.Is(err, store.ErrNotFound):
			return nil, nil
		case err != nil:
			return nil, err
		}
	}
	m, hidden, err := v.begin(ctx, &s)
	if err != nil {
		return nil, err
	}
	seen := map[store.Cause]bool{}
	var out []store.Cause
	add := func(c store.Cause) {
		if (c.TraceID == id || c.OfTrace == id) && !seen[c] && !hidden[c.TraceID] {
			seen[c] = true
			out = append(out, c)
		}
	}
	if err := v.each(ctx, m, func(t *span.Trace) {
		for _, s := range t.Spans {
			for _, c := range store.CausesOf(s) {
				add(c)
			}
		}
	}); err != nil {
		return nil, err
	}
	archive, err := v.archive()
	if err == nil {
		var more []store.Cause
		more, err = archive.Causes(ctx, s, id)
		for _, c := range more {
			add(c)
		}
	}
	if err != nil && m.live(id) == nil {
		return nil, err
	}
	store.SortCauses(id, out)
	return out, nil
}

// each calls f with every trace in memory and every amendment.
func (v *View) each(ctx context.Context, m *moment, f func(*span.Trace)) error {
	all := m.traces()
	for _, further := range []map[trace.TraceID][]*held{m.repeated, m.amended} {
		for _, entries := range further {
			all = append(all, entries...)
		}
	}
	for _, h := range all {
		t, err := v.load(ctx, h)
		if missing(err) {
			continue
		}
		if err != nil {
			return err
		}
		f(t)
	}
	return nil
}
