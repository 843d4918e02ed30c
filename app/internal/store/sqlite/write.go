// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// phase is the state of a trace; its values are stored.
type phase int64

const (
	unknown  phase = iota // only amendments, or withdrawn
	open                  // more spans are expected
	finished              // only amendments may follow
)

// Write merges b into what is stored.
func (s *Store) Write(ctx context.Context, b *store.Batch) error {
	if err := b.Validate(); err != nil {
		return failed(context.Background(), "write to store", s.path, err)
	}
	steady := context.WithoutCancel(ctx)
	err := s.transaction(ctx, func(w *writing) error {
		m := &merge{writing: w, batch: b}
		if err := m.traces(steady); err != nil {
			return err
		}
		return m.state(steady)
	})
	if err != nil {
		return failed(ctx, "write to store", s.path, err)
	}
	return nil
}

// merge is a batch during its Write.
type merge struct {
	*writing
	batch *store.Batch
}

func (m *merge) traces(ctx context.Context) error {
	for _, part := range []struct {
		traces []*span.Trace
		merge  func(context.Context, *head, *span.Trace) error
	}{
		{m.batch.Open, m.open}, {m.batch.Finished, m.finish}, {m.batch.Amendments, m.amend},
	} {
		for _, t := range part.traces {
			if err := m.one(ctx, t.ID, func(h *head) error { return part.merge(ctx, h, t) }); err != nil {
				return err
			}
		}
	}
	for _, id := range m.batch.Withdrawn {
		if err := m.one(ctx, id, func(h *head) error { return m.withdraw(ctx, h) }); err != nil {
			return err
		}
	}
	return nil
}

func (m *merge) one(ctx context.Context, id trace.TraceID, do func(*head) error) error {
	if err := m.cancelled(); err != nil {
		return err
	}
	h, err := m.head(ctx, id)
	if err != nil {
		return err
	}
	return do(h)
}

// head holds a trace's stored data before the merge of a batch.
type head struct {
	id       trace.TraceID
	num      int64
	known    bool
	phase    phase
	revision int64
	asOf     int64
	outcome  span.Outcome
	reason   string
}

func (m *merge) head(ctx context.Context, id trace.TraceID) (*head, error) {
	h := &head{id: id}
	err := scan(ctx, m, "SELECT num, phase, revision, as_of, outcome, reason FROM traces WHERE id = ?", []any{id[:]},
		[]any{&h.num, &h.phase, &h.revision, &h.asOf, &h.outcome, &h.reason},
		func() error { h.known = true; return nil })
	if err == nil && !h.known {
		m.s.last++
		h.num = m.s.last
	}
	return h, err
}

// outdated reports whether an open version of this batch is too old.
func (m *merge) outdated(h *head) bool {
	return h.phase == finished || h.revision > m.batch.Revision
}

func (m *merge) open(ctx context.Context, h *head, t *span.Trace) error {
	if m.outdated(h) {
		return nil
	}
	return m.replace(ctx, h, t, open)
}

func (m *merge) finish(ctx context.Context, h *head, t *span.Trace) error {
	if h.phase == finished {
		return m.join(ctx, h, t)
	}
	return m.replace(ctx, h, t, finished)
}

// withdraw keeps the amendments of the trace, and its revision against older versions.
func (m *merge) withdraw(ctx context.Context, h *head) error {
	if m.outdated(h) {
		return nil
	}
	return m.replace(ctx, h, &span.Trace{ID: h.id}, unknown)
}

func (m *merge) state(ctx context.Context) error {
	var revision, kept, asOf int64
	var name string
	var value int64
	err := scan(ctx, m, "SELECT name, value FROM meta", nil, []any{&name, &value}, func() error {
		switch name {
		case metaRevision:
			revision = value
		case metaState:
			kept = value
		case metaAsOf:
			asOf = value
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(m.batch.State) > 0 && m.batch.Revision >= kept {
		kept = m.batch.Revision
		for _, name := range slices.Sorted(maps.Keys(m.batch.State)) { // neighbours share pages
			if err := m.keep(ctx, name, m.batch.State[name]); err != nil {
				return err
			}
		}
	}
	for name, value := range map[string]int64{
		metaRevision: max(revision, m.batch.Revision), metaState: kept, metaAsOf: max(asOf, nanos(m.batch.AsOf)),
	} {
		if err := m.exec(
			ctx,
			"INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
			name,
			value,
		); err != nil {
			return err
		}
	}
	return nil
}

// Keys of the table meta.
const (
	metaRevision = "revision" // the highest of all batches
	metaState    = "state"    // the last batch with stored state
	metaAsOf     = "as_of"    // the latest of all batches
)

func (m *merge) keep(ctx context.Context, name string, value []byte) error {
	if value == nil {
		return m.exec(ctx, "DELETE FROM state WHERE name = ?", name)
	}
	return m.exec(
		ctx,
		"INSERT INTO state (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
		name,
		value,
	)
}
