// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Trace returns one trace with all its spans.
func (s *Store) Trace(ctx context.Context, id trace.TraceID) (*store.Record, error) {
	var out *store.Record
	err := s.snapshot(ctx, func(q querier) error {
		found, nums, err := summaries(ctx, q, " WHERE id = ? AND phase > 0", []any{id[:]})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return store.ErrNotFound
		}
		out = &store.Record{
			Summary: found[0],
			Trace:   &span.Trace{ID: id, Outcome: found[0].Outcome, Reason: found[0].Reason},
		}
		out.Trace.Spans, err = load(ctx, q, nums[0], id, true)
		return err
	})
	if err != nil {
		return nil, failed(ctx, fmt.Sprintf("read trace %s from store", id), s.path, err)
	}
	return out, nil
}

// load reads the spans of a trace, with or without its amendments.
func load(ctx context.Context, from querier, num int64, id trace.TraceID, amending bool) ([]*span.Span, error) {
	refs, err := objects(ctx, from, num)
	if err != nil {
		return nil, err
	}
	made, err := makers(ctx, from, num)
	if err != nil {
		return nil, err
	}
	var out []*span.Span
	var s span.Span
	var spanid, parent, data []byte
	var obj, madeBy int64
	var start, until sql.NullInt64
	err = scan(
		ctx,
		from,
		`SELECT id, parent, remote, name, service, object, start, start_source, until, until_source, outcome, `+
			`evidence, status, message, data, origin
		FROM spans WHERE trace = ? AND amends <= ? ORDER BY amends, revision, seq, id`,
		[]any{num, amending},
		[]any{
			&spanid,
			&parent,
			&s.RemoteParent,
			&s.Name,
			&s.Service,
			&obj,
			&start,
			&s.Start.Source,
			&until,
			&s.End.Source,
			&s.Outcome,
			&s.Evidence,
			&s.Status,
			&s.Message,
			&data,
			&madeBy,
		},
		func() error {
			one := s
			one.TraceID, one.ID, one.Parent, one.Object = id, spanID(spanid), spanID(parent), refs[obj]
			one.Start.Time, one.End.Time = optionalMoment(start), optionalMoment(until)
			if err := decode(&one, data, made[madeBy]); err != nil {
				return fmt.Errorf("%w: span %s: %w", store.ErrDamaged, one.ID, err)
			}
			out = append(out, &one)
			return nil
		},
	)
	return out, err
}
