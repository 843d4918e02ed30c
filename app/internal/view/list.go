// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// missing reports whether an entry has left the log or cannot be read. The archive has it then, or
// it is lost.
func missing(err error) bool {
	return errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDamaged)
}

// away reports whether an error says that the archive cannot be asked now: it is being opened, or it
// was lost just now.
func away(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrDamaged)
}

// List implements store.Reader.
func (v *View) List(ctx context.Context, q store.Query) (page *store.Page, err error) {
	m, hidden, err := v.begin(ctx, &q.Scope)
	if err != nil {
		return nil, err
	}
	err = v.search(ctx, q.Costly(), func(ctx context.Context) (err error) {
		page, err = v.list(ctx, m, q, hidden)
		return err
	})
	return page, err
}

func (v *View) list(
	ctx context.Context, m *moment, q store.Query, hidden map[trace.TraceID]bool,
) (*store.Page, error) {
	l := &lister[store.Summary]{
		hidden: func(s *store.Summary) bool { return hidden[s.ID] },
		limit:  store.PageLength(q.Limit),
		key:    func(s *store.Summary) string { return string(s.ID[:]) },
		order: func(a, b *store.Summary) int {
			return cmp.Or(b.Start.Compare(a.Start), bytes.Compare(b.ID[:], a.ID[:]))
		},
	}
	if q.After != "" {
		at, key, err := q.After.Position(len(trace.TraceID{}))
		if err != nil {
			return nil, err
		}
		l.after = func(s *store.Summary) bool {
			return cmp.Or(cmp.Compare(s.Start.UnixNano(), at), bytes.Compare(s.ID[:], key)) < 0
		}
	}
	if err := v.liveSummaries(ctx, m, &q, hidden, l.add); err != nil {
		return nil, err
	}
	out := &store.Page{}
	if err := v.archived(ctx, m, q, l); away(err) {
		out.Incomplete = err.Error()
	} else if err != nil {
		return nil, err
	}
	var more bool
	if out.Traces, more = l.page(); more {
		last := &out.Traces[len(out.Traces)-1]
		out.Next = store.NewCursor(last.Start.UnixNano(), last.ID[:])
	}
	return out, nil
}

// archived adds the matching traces of the archive.
func (v *View) archived(ctx context.Context, m *moment, q store.Query, to *lister[store.Summary]) error {
	if q.Open {
		return nil
	}
	archive, err := v.archive()
	if err != nil {
		return err
	}
	if err := v.amendedSummaries(ctx, m, archive, &q, to.add); err != nil {
		return err
	}
	return to.fill(func() (page []store.Summary, last bool, err error) {
		p, err := archive.List(ctx, q)
		if err != nil {
			return nil, true, err
		}
		q.After = p.Next
		for i := range p.Traces {
			m.countAmended(&p.Traces[i])
		}
		return p.Traces, p.Next == "", nil
	})
}

// liveSummaries calls add with the matching traces in memory that are not hidden.
func (v *View) liveSummaries(
	ctx context.Context, m *moment, q *store.Query, hidden map[trace.TraceID]bool, add func(store.Summary),
) error {
	for _, h := range m.traces() {
		if hidden[h.TraceID] {
			continue
		}
		sum, err := v.summarize(ctx, h)
		if missing(err) {
			continue
		}
		if err != nil {
			return err
		}
		one := *sum
		m.countAmended(&one)
		if !q.Fits(&one) {
			continue
		}
		fits, err := v.touches(ctx, m, h, q.Object)
		if err != nil {
			return err
		}
		if fits {
			add(one)
		}
	}
	return nil
}

// touches reports whether a trace in memory, with its amendments, has a matching object.
func (v *View) touches(ctx context.Context, m *moment, h *held, want object.Ref) (bool, error) {
	if want == (object.Ref{}) {
		return true, nil
	}
	for _, part := range append([]*held{h}, m.amended[h.TraceID]...) {
		t, err := v.load(ctx, part)
		if err != nil && !missing(err) {
			return false, err
		}
		if err == nil && store.Touches(t, want) {
			return true, nil
		}
	}
	return false, nil
}

// amendedSummaries calls add with the archived traces that have a matching object only in the log.
func (v *View) amendedSummaries(
	ctx context.Context, m *moment, archive store.Reader, q *store.Query, add func(store.Summary),
) error {
	if q.Object == (object.Ref{}) {
		return nil
	}
	for id, amendments := range m.amended {
		if m.live(id) != nil {
			continue // liveSummaries has it
		}
		fits, err := v.touches(ctx, m, amendments[0], q.Object)
		if err != nil {
			return err
		}
		if !fits {
			continue
		}
		r, err := archive.Trace(ctx, q.Scope, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if sum := r.Summary; q.Fits(&sum) {
			m.countAmended(&sum)
			add(sum)
		}
	}
	return nil
}

// countAmended adds the spans in the log to the number of spans. A span in both counts once only
// after the next batch of the archive.
func (m *moment) countAmended(s *store.Summary) {
	for _, h := range m.amended[s.ID] {
		s.Spans += h.Spans
	}
}

// Writes implements store.Reader.
func (v *View) Writes(ctx context.Context, q store.WriteQuery) (page *store.WritePage, err error) {
	m, hidden, err := v.begin(ctx, &q.Scope)
	if err != nil {
		return nil, err
	}
	err = v.search(ctx, q.Costly(), func(ctx context.Context) (err error) {
		page, err = v.writes(ctx, m, q, hidden)
		return err
	})
	return page, err
}

func (v *View) writes(
	ctx context.Context, m *moment, q store.WriteQuery, hidden map[trace.TraceID]bool,
) (*store.WritePage, error) {
	limit := store.PageLength(q.Limit)
	l := &lister[store.Write]{
		hidden: func(w *store.Write) bool { return hidden[w.TraceID] },
		limit:  limit,
		key:    func(w *store.Write) string { return string(position(w)) },
		order: func(a, b *store.Write) int {
			return cmp.Or(b.End.Compare(a.End), bytes.Compare(position(b), position(a)))
		},
	}
	if q.After != "" {
		at, key, err := q.After.Position(writeKey)
		if err != nil {
			return nil, err
		}
		l.after = func(w *store.Write) bool {
			return cmp.Or(cmp.Compare(w.End.UnixNano(), at), bytes.Compare(position(w), key)) < 0
		}
	}
	if err := v.each(ctx, m, func(t *span.Trace) {
		for _, s := range t.Spans {
			for _, w := range store.WritesOf(s) {
				if q.Fits(&w) {
					l.add(w)
				}
			}
		}
	}); err != nil {
		return nil, err
	}
	out := &store.WritePage{}
	if err := v.archivedWrites(ctx, q, l); away(err) {
		out.Incomplete = err.Error()
	} else if err != nil {
		return nil, err
	}
	var more bool
	if out.Writes, more = l.page(); more {
		last := &out.Writes[len(out.Writes)-1]
		out.Next = store.NewCursor(last.End.UnixNano(), position(last))
	}
	return out, nil
}

// archivedWrites adds the matching writes of the archive.
func (v *View) archivedWrites(ctx context.Context, q store.WriteQuery, to *lister[store.Write]) error {
	archive, err := v.archive()
	if err != nil {
		return err
	}
	return to.fill(func() (page []store.Write, last bool, err error) {
		p, err := archive.Writes(ctx, q)
		if err != nil {
			return nil, true, err
		}
		q.After = p.Next
		return p.Writes, p.Next == "", nil
	})
}

// writeKey is the length of a write's position among those of one time: its trace, its span, and its
// number there.
const writeKey = len(trace.TraceID{}) + len(trace.SpanID{}) + 4

func position(w *store.Write) []byte {
	key := make([]byte, 0, writeKey)
	key = append(append(key, w.TraceID[:]...), w.SpanID[:]...)
	return binary.BigEndian.AppendUint32(key, uint32(w.Number)) //nolint:gosec // a count
}

// lister merges entries in memory with pages of the archive.
type lister[T any] struct {
	limit int
	// key identifies an entry; of two equal ones, the first that was added counts. order is
	// negative if a comes before b. after reports whether an entry is behind the cursor; nil
	// without one.
	key   func(*T) string
	order func(a, b *T) int
	after func(*T) bool
	// hidden reports whether an entry is outside the scope of the question.
	hidden func(*T) bool

	entries []T
	seen    map[string]bool
	// last is the last entry of the archive's page that has a next one; entries behind it wait for
	// the next page.
	last *T
}

func (l *lister[T]) add(e T) {
	if l.hidden(&e) || l.after != nil && !l.after(&e) {
		return
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	if key := l.key(&e); !l.seen[key] {
		l.seen[key] = true
		l.entries = append(l.entries, e)
	}
}

// fill adds pages of the archive, until the list is long enough or the archive has no more.
func (l *lister[T]) fill(next func() (page []T, last bool, err error)) error {
	for {
		page, last, err := next()
		if err != nil {
			l.last = nil // what is in memory is the whole list
			return err
		}
		for i := range page {
			l.add(page[i])
		}
		if last || len(page) == 0 {
			l.last = nil
			return nil
		}
		l.last = &page[len(page)-1]
		if l.ready() >= l.limit {
			return nil
		}
	}
}

// ready counts the entries that no further page of the archive comes before.
func (l *lister[T]) ready() int {
	if l.last == nil {
		return len(l.entries)
	}
	n := 0
	for i := range l.entries {
		if l.order(&l.entries[i], l.last) <= 0 {
			n++
		}
	}
	return n
}

// page returns the first entries, and whether there are more.
func (l *lister[T]) page() (page []T, more bool) {
	slices.SortFunc(l.entries, func(a, b T) int { return l.order(&a, &b) })
	n := min(l.limit, l.ready())
	return l.entries[:n], n > 0 && (n < len(l.entries) || l.last != nil)
}
