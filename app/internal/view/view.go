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
	sources sources
	// Cluster is the cluster of all traces, for scopes. It must not change after the first question.
	Cluster string

	present atomic.Pointer[moment]
	// begun is closed by the first Publish.
	begun chan struct{}
	once  sync.Once
	// changing is held while the present moment is replaced.
	changing sync.Mutex
	// delay is the error of the looks since the present moment; nil if they are stored.
	delay atomic.Pointer[error]

	limits      limits
	projections projections
}

var _ store.Reader = (*View)(nil)

// New returns a View without a first moment. Read returns the trace of an entry of the log.
// Archive returns the archive, or an error that wraps store.ErrUnavailable.
func New(read func(ctx context.Context, seq uint64) (*span.Trace, error), archive func() (store.Stored, error)) *View {
	return &View{
		sources: sources{read, archive}, begun: make(chan struct{}),
		limits:      limits{store.NewLimiter(), briefTime},
		projections: projections{turns: make(chan struct{}, maxProjecting), parts: store.NewParts()},
	}
}

// Begun is closed after the first look.
func (v *View) Begun() <-chan struct{} { return v.begun }

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
	v.present.Store(next)
	v.once.Do(func() { close(v.begun) })
}

// Delayed notes that the looks since the present moment cannot be stored, with the error; nil means
// that they are. Until then the answers are incomplete.
func (v *View) Delayed(err error) {
	if err == nil {
		v.delay.Store(nil)
		return
	}
	v.delay.Store(&err)
}

// behind returns why the present moment lacks newer traces. Empty means that it does not.
func (v *View) behind(m *moment) string {
	if err := v.delay.Load(); err != nil {
		return fmt.Sprintf("what happened since %s is missing: it cannot be stored: %v",
			m.asOf.UTC().Format(time.RFC3339), kindOf(*err))
	}
	return ""
}

// errTrouble stands for an error without a kind: its text may name files.
var errTrouble = errors.New("see the log of the server")

// kindOf returns the error of package store that err wraps.
func kindOf(err error) error {
	for _, kind := range []error{store.ErrFull, store.ErrReadOnly, store.ErrDamaged, store.ErrSystem} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return errTrouble
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
	v.present.Store(next)
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
	v.present.Store(&next)
}

// Entry returns the trace of an entry of the log.
func (v *View) Entry(ctx context.Context, seq uint64) (*span.Trace, error) {
	if m := v.present.Load(); m != nil {
		i, there := slices.BinarySearchFunc(m.pending, seq,
			func(h *held, seq uint64) int { return cmp.Compare(h.Seq, seq) })
		if there && m.pending[i].trace != nil {
			return m.pending[i].trace, nil
		}
	}
	return v.sources.read(ctx, seq)
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

// now returns the present moment. Before the first look there is none.
func (v *View) now() (*moment, error) {
	m := v.present.Load()
	if m == nil || m.asOf.IsZero() {
		return nil, fmt.Errorf("%w: the server has just started, ask again in a moment", store.ErrUnavailable)
	}
	return m, nil
}
