// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// phase is the state of a trace; its values are stored.
type phase int64

const (
	unknown  phase = 0 // only amendments
	finished phase = 2 // only amendments may follow
)

// Keys of the table meta.
const (
	metaRevision = "revision" // the highest of all batches
	metaAsOf     = "as_of"    // the latest of all batches
	metaUnclean  = "unclean"  // present if unused space may hold deleted data
	metaIdentity = "identity" // a random number from the creation
	metaJournal  = "journal"  // the identity of the last journal
	metaCommit   = "commit"   // the highest revision of the batches of that journal
)

// Write merges b into what is stored.
func (s *Store) Write(ctx context.Context, b *store.Batch) error {
	if err := b.Validate(); err != nil {
		return s.db.Failed(context.Background(), "write to", err)
	}
	err := s.db.Write(ctx, func(steady context.Context, tx *database.Tx) error {
		m := &merge{deriver: newDeriver(tx, s), batch: b}
		if err := m.traces(steady); err != nil {
			return err
		}
		if err := m.foreignRollups(steady, b.Rollups); err != nil {
			return err
		}
		if err := m.pair(steady); err != nil {
			return err
		}
		return m.meta(steady)
	})
	if err != nil {
		return s.db.Failed(ctx, "write to", err)
	}
	return nil
}

// merge is a batch during its Write.
type merge struct {
	*deriver
	batch *store.Batch
}

func (m *merge) traces(ctx context.Context) error {
	for _, part := range []struct {
		traces []*span.Trace
		merge  func(context.Context, *head, *span.Trace) error
	}{
		{m.batch.Finished, m.finish}, {m.batch.Amendments, m.amend},
	} {
		for _, t := range part.traces {
			if err := m.Cancelled(); err != nil {
				return err
			}
			h, err := m.head(ctx, t.ID)
			if err == nil {
				err = part.merge(ctx, h, t)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// head holds a trace's stored data before the merge of a batch.
type head struct {
	num      int64
	known    bool
	phase    phase
	revision int64
	asOf     int64
	// outcome is that of the first claims.
	outcome span.Outcome
	reason  string
	// stamp is the stored digest; 0 for an unknown trace.
	stamp int64
}

// firstOutcome is the outcome of a trace by its first claims.
const firstOutcome = "coalesce(nullif(was, ''), outcome)"

func (m *merge) head(ctx context.Context, id trace.TraceID) (*head, error) {
	h := &head{}
	err := database.Scan(
		ctx,
		m,
		"SELECT num, phase, revision, as_of, "+firstOutcome+", reason, digest FROM traces WHERE id = ?",
		[]any{id[:]},
		[]any{&h.num, &h.phase, &h.revision, &h.asOf, &h.outcome, &h.reason, &h.stamp},
		func() error { h.known = true; return nil },
	)
	if err == nil && !h.known {
		m.s.last++
		h.num = m.s.last
	}
	return h, err
}

// finish stores a finished version. If there is another one, every span is kept. Of two with the
// same ID, the one with the lower revision is kept.
func (m *merge) finish(ctx context.Context, h *head, t *span.Trace) error {
	second := h.phase == finished
	if second && m.batch.Revision == h.revision {
		return nil // a repetition
	}
	c, err := m.content(ctx, h, t.ID)
	if err != nil {
		return err
	}
	first := !second || m.batch.Revision < h.revision
	if second && first {
		c.yield(h.revision)
	}
	revision := m.batch.Revision // of the new spans
	if first {
		revision = 0
		h.revision, h.asOf, h.outcome, h.reason = m.batch.Revision, nanos(m.batch.AsOf), t.Outcome, t.Reason
	}
	given := make(map[trace.SpanID]bool, len(t.Spans))
	part := c.part(place{revision: revision})
	for _, s := range t.Spans {
		old := c.of[s.ID]
		if given[s.ID] || old != nil && !old.amends && old.revision <= revision {
			continue // an ID names one span
		}
		given[s.ID] = true
		c.put(s, part)
	}
	if err := c.flush(ctx); err != nil {
		return err
	}
	spans := t.Spans
	if second {
		spans = c.all(false)
	}
	return c.conclude(ctx, h, spans)
}

// conclude stores what follows from the spans of a finished trace, and from the later claims about them.
func (c *content) conclude(ctx context.Context, h *head, spans []*span.Span) error {
	all := &span.Trace{ID: c.id, Outcome: h.outcome, Reason: h.reason, Spans: append(slices.Clip(spans), c.claims()...)}
	asOf := moment(h.asOf)
	sum := store.Summarize(all, asOf)
	sum.AsOf, sum.Revision = asOf, h.revision
	rows := lifecyclesOf(all, asOf)
	if err := c.derive(ctx, all, rows); err != nil {
		return err
	}
	if err := c.rollups(ctx, all, rows); err != nil {
		return err
	}
	return c.finish(ctx, &sum, h)
}

// amend adds spans to a trace, known or unknown.
func (m *merge) amend(ctx context.Context, h *head, t *span.Trace) error {
	if !h.known {
		if err := m.Exec(ctx, "INSERT INTO traces (num, id, phase, revision, as_of) VALUES (?, ?, ?, 0, ?)",
			h.num, t.ID[:], unknown, nanos(m.batch.AsOf)); err != nil {
			return err
		}
	}
	c, err := m.content(ctx, h, t.ID)
	if err != nil {
		return err
	}
	part := c.part(place{amends: true, revision: m.batch.Revision})
	for _, s := range t.Spans {
		if old := c.of[s.ID]; old == nil || old.amends && old.revision > m.batch.Revision {
			c.put(s, part)
		}
	}
	if err := c.flush(ctx); err != nil {
		return err
	}
	if h.phase == finished {
		if c.moved || slices.ContainsFunc(t.Spans, (*span.Span).IsClaim) {
			return c.conclude(ctx, h, c.all(false))
		}
		if err := m.index(ctx, h.num, t.Spans, true); err != nil {
			return err
		}
	}
	if h.stamp != 0 {
		h.stamp = h.digest(t.ID, int64(len(c.of)))
	}
	sole, mentions := c.objects()
	return m.Exec(
		ctx, "UPDATE traces SET spans = ?1, writes = (SELECT count(*) FROM writes WHERE trace = ?2), "+
			"digest = ?3, sole = ?4, mentions = ?5, aftermath = ?6 WHERE num = ?2", len(c.of), h.num, h.stamp, sole,
		mentions, encodeAftermath(span.AftermathOf(&span.Trace{ID: t.ID, Spans: c.all(true)})),
	)
}

// pair notes the journal and its last commit.
func (m *merge) pair(ctx context.Context) error {
	if m.batch.Journal == 0 {
		return nil
	}
	if err := m.Exec(ctx, `INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value =
			iif((SELECT value FROM meta WHERE name = ?3) = ?4, max(value, excluded.value), excluded.value)`,
		metaCommit, m.batch.Revision, metaJournal, m.batch.Journal); err != nil {
		return err
	}
	return m.Exec(ctx, `INSERT INTO meta (name, value) VALUES (?, ?)
		ON CONFLICT DO UPDATE SET value = excluded.value WHERE value != excluded.value`, metaJournal, m.batch.Journal)
}

// meta raises the numbers about all batches.
func (m *merge) meta(ctx context.Context) error {
	for name, value := range map[string]int64{
		metaRevision: m.batch.Revision, metaAsOf: nanos(m.batch.AsOf),
	} {
		if err := m.Exec(
			ctx,
			"INSERT INTO meta (name, value) VALUES (?, ?)"+
				" ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
			name,
			value,
		); err != nil {
			return err
		}
	}
	return nil
}
