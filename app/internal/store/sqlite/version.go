// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// replace makes t the whole content of an unfinished trace, beside its amendments. Unchanged spans
// cost no write.
func (m *merge) replace(ctx context.Context, h *head, t *span.Trace, to phase) error {
	sum := store.Summarize(t, m.batch.AsOf)
	c, err := m.content(ctx, h)
	if err != nil {
		return err
	}
	given := make(map[trace.SpanID]bool, len(t.Spans))
	for seq, s := range t.Spans {
		if given[s.ID] {
			continue // an ID names one span
		}
		given[s.ID] = true
		if err := c.put(ctx, s, place{seq: seq}); err != nil {
			return err
		}
	}
	for id, old := range c.spans {
		if !old.amends && !given[id] {
			if err := c.remove(ctx, id); err != nil {
				return err
			}
		}
	}
	sum.AsOf, sum.Revision = m.batch.AsOf, m.batch.Revision
	return c.finish(ctx, &sum, to)
}

// join merges a second finished version. Every span is kept. Of two with the same ID, the one with
// the lower revision is kept.
func (m *merge) join(ctx context.Context, h *head, t *span.Trace) error {
	if m.batch.Revision == h.revision {
		return nil // a repetition
	}
	c, err := m.content(ctx, h)
	if err != nil {
		return err
	}
	revision := m.batch.Revision // of the new spans
	if revision < h.revision {
		if err := c.yield(ctx, h.revision); err != nil {
			return err
		}
		revision = 0
		h.revision, h.asOf, h.outcome, h.reason = m.batch.Revision, nanos(m.batch.AsOf), t.Outcome, t.Reason
	}
	given := make(map[trace.SpanID]bool, len(t.Spans))
	for seq, s := range t.Spans {
		old, there := c.spans[s.ID]
		if given[s.ID] || there && !old.amends && old.revision <= revision {
			continue
		}
		given[s.ID] = true
		if err := c.put(ctx, s, place{seq: seq, revision: revision}); err != nil {
			return err
		}
	}
	all, err := load(ctx, m, h.num, h.id, false)
	if err != nil {
		return err
	}
	sum := store.Summarize(&span.Trace{ID: h.id, Spans: all, Outcome: h.outcome, Reason: h.reason}, moment(h.asOf))
	sum.AsOf, sum.Revision = moment(h.asOf), h.revision
	return c.finish(ctx, &sum, finished)
}

// amend adds spans to a trace, known or unknown.
func (m *merge) amend(ctx context.Context, h *head, t *span.Trace) error {
	if !h.known {
		if err := m.exec(ctx, "INSERT INTO traces (num, id, phase, revision, as_of) VALUES (?, ?, ?, 0, ?)",
			h.num, h.id[:], unknown, nanos(m.batch.AsOf)); err != nil {
			return err
		}
	}
	c, err := m.content(ctx, h)
	if err != nil {
		return err
	}
	for seq, s := range t.Spans {
		if old, there := c.spans[s.ID]; there && (!old.amends || old.revision <= m.batch.Revision) {
			continue
		}
		if err := c.put(ctx, s, place{amends: true, revision: m.batch.Revision, seq: seq}); err != nil {
			return err
		}
	}
	return c.count(ctx)
}
