// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"cmp"
	"context"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Trace returns one trace with all its spans.
func (s *Store) Trace(ctx context.Context, scope store.Scope, id trace.TraceID) (*store.Record, error) {
	f := &filter{}
	f.add("id = ? AND phase > 0", id[:])
	f.touching(scope, "traces")
	sum, parts, err := s.read(ctx, id, f)
	if err != nil {
		return nil, err
	}
	return &store.Record{
		Summary: *sum,
		Trace:   span.Revise(&span.Trace{ID: id, Outcome: first(sum), Reason: sum.Reason, Spans: all(parts)}),
	}, nil
}

// Batches returns the content of one trace as batches. The time of each is that of the valid
// version: the times of the others are not stored.
func (s *Store) Batches(ctx context.Context, id trace.TraceID) ([]*store.Batch, error) {
	f := &filter{}
	f.add("id = ? AND phase > 0", id[:])
	sum, parts, err := s.read(ctx, id, f)
	if err != nil {
		return nil, err
	}
	var out []*store.Batch
	for _, p := range parts {
		if p.revision == 0 {
			p.revision = sum.Revision
		}
		b := &store.Batch{Revision: p.revision, AsOf: sum.AsOf}
		p.addTo(b, &span.Trace{ID: id, Outcome: first(sum), Reason: sum.Reason})
		out = append(out, b)
	}
	return out, nil
}

// first returns the outcome by the first claims.
func first(sum *store.Summary) span.Outcome { return cmp.Or(sum.Was, sum.Outcome) }

// read returns the summary and the parts of the trace that f selects, or store.ErrNotFound.
func (s *Store) read(ctx context.Context, id trace.TraceID, f *filter) (sum *store.Summary, parts []part, err error) {
	err = s.db.Read(ctx, func(q database.Querier) error {
		found, nums, err := summaries(ctx, q, f.String(), f.args)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return store.ErrNotFound
		}
		sum = &found[0]
		parts, err = readParts(ctx, q, nums[0], id)
		return err
	})
	if err != nil {
		return nil, nil, s.db.Failed(ctx, fmt.Sprintf("read trace %s from", id), err)
	}
	return sum, parts, nil
}

// addTo adds the spans of a part to a batch, as a trace with the outcome and the reason of t.
func (p *part) addTo(b *store.Batch, t *span.Trace) {
	t.Spans = p.spans
	if p.amends {
		b.Amendments = append(b.Amendments, t)
	} else {
		b.Finished = append(b.Finished, t)
	}
}
