// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Batches returns the content of one trace as batches. The time of each is that of the valid
// version: the times of the others are not stored.
func (s *Store) Batches(ctx context.Context, id trace.TraceID) ([]*store.Batch, error) {
	var found []store.Summary
	var rows []row
	err := s.db.Read(ctx, func(q database.Querier) error {
		var nums []int64
		var err error
		if found, nums, err = summaries(ctx, q, " WHERE id = ? AND phase > 0", []any{id[:]}); err != nil {
			return err
		}
		if len(found) == 0 {
			return store.ErrNotFound
		}
		rows, err = readSpans(ctx, q, nums[0], id, true)
		return err
	})
	if err != nil {
		return nil, s.db.Failed(ctx, fmt.Sprintf("read trace %s from", id), err)
	}
	return divide(&found[0], rows), nil
}

// divide divides the spans of a trace. They are in the order of their batches.
func divide(sum *store.Summary, rows []row) []*store.Batch {
	var out []*store.Batch
	var last place
	for i, row := range rows {
		at := place{amends: row.amends, revision: row.revision}
		if at.revision == 0 {
			at.revision = sum.Revision
		}
		if i == 0 || at != last {
			out = append(out, newBatch(sum, at))
			last = at
		}
		b := out[len(out)-1]
		for _, t := range slices.Concat(b.Finished, b.Amendments) { // it is one
			t.Spans = append(t.Spans, row.Span)
		}
	}
	return out
}

func newBatch(sum *store.Summary, at place) *store.Batch {
	b := &store.Batch{Revision: at.revision, AsOf: sum.AsOf}
	t := &span.Trace{ID: sum.ID, Outcome: sum.Outcome, Reason: sum.Reason}
	if at.amends {
		b.Amendments = []*span.Trace{t}
	} else {
		b.Finished = []*span.Trace{t}
	}
	return b
}
