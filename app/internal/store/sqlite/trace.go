// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Trace returns one trace with all its spans.
func (s *Store) Trace(ctx context.Context, scope store.Scope, id trace.TraceID) (*store.Record, error) {
	f := &filter{}
	f.add("id = ? AND phase > 0", id[:])
	f.visible(scope, "traces")
	var out *store.Record
	err := s.db.Read(ctx, func(q database.Querier) error {
		found, nums, err := summaries(ctx, q, f.String(), f.args)
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
		return nil, s.db.Failed(ctx, fmt.Sprintf("read trace %s from", id), err)
	}
	return out, nil
}

// load reads the spans of a trace, with or without its amendments.
func load(
	ctx context.Context,
	from database.Querier,
	num int64,
	id trace.TraceID,
	amending bool,
) ([]*span.Span, error) {
	rows, err := readSpans(ctx, from, num, id, amending)
	out := make([]*span.Span, len(rows))
	for i, row := range rows {
		out[i] = row.Span
	}
	return out, err
}

// row is a stored span.
type row struct {
	*span.Span
	stored
	object, made int64
	by, data     []byte
	facts        []byte
}

// readSpans reads the spans of a trace in their order, with or without its amendments.
func readSpans(
	ctx context.Context, from database.Querier, num int64, id trace.TraceID, amending bool,
) ([]row, error) {
	refs, err := objects(ctx, from, num)
	if err != nil {
		return nil, err
	}
	makers, err := origins(ctx, from, num)
	if err != nil {
		return nil, err
	}
	rows, err := readRows(ctx, from, id, "WHERE trace = ? AND amends <= ?", num, amending)
	if err != nil {
		return nil, err
	}
	rows = inOrder(rows)
	return rows, complete(rows, refs, makers)
}

// inOrder returns the rows by amends, revision, seq and ID. It is faster than ORDER BY, which moves whole
// rows through a sorter of SQLite.
func inOrder(rows []row) []row {
	type key struct {
		place
		at int
	}
	keys := make([]key, len(rows))
	for i := range rows {
		keys[i] = key{rows[i].place, i}
	}
	slices.SortFunc(keys, func(a, b key) int {
		switch {
		case a.amends != b.amends && b.amends:
			return -1
		case a.amends != b.amends:
			return 1
		case a.revision != b.revision:
			return cmp.Compare(a.revision, b.revision)
		case a.seq != b.seq:
			return cmp.Compare(a.seq, b.seq)
		}
		return bytes.Compare(rows[a.at].ID[:], rows[b.at].ID[:])
	})
	out := make([]row, len(rows))
	for i, k := range keys {
		out[i] = rows[k.at]
	}
	return out
}

// readRows reads spans without their objects and data.
func readRows(
	ctx context.Context, from database.Querier, id trace.TraceID, which string, args ...any,
) ([]row, error) {
	var out []row
	var s span.Span
	var in row
	var spanid, parent []byte
	var start, until optionalTime
	var amends, revision, seq, digest, remote, of, status, made number
	err := database.Scan(
		ctx,
		from,
		`SELECT id, amends, revision, seq, digest, parent, remote, name, service, object, start, start_source, `+
			`until, until_source, outcome, evidence, status, message, data, origin, facts FROM spans `+which,
		args,
		[]any{
			&spanid,
			&amends,
			&revision,
			&seq,
			&digest,
			&parent,
			&remote,
			&s.Name,
			&s.Service,
			&of,
			&start,
			(*string)(&s.Start.Source),
			&until,
			(*string)(&s.End.Source),
			(*string)(&s.Outcome),
			(*string)(&s.Evidence),
			&status,
			&s.Message,
			&in.data,
			&made,
			&in.facts,
		},
		func() error {
			one, row := s, in
			one.TraceID, one.ID, one.Parent = id, spanID(spanid), spanID(parent)
			one.Start.Time, one.End.Time = start.Time, until.Time
			one.RemoteParent, one.Status = remote != 0, span.Status(status)
			row.amends, row.revision, row.seq, row.digest = amends != 0, int64(revision), int(seq), int64(digest)
			row.object, row.made = int64(of), int64(made)
			row.Span = &one
			out = append(out, row)
			return nil
		},
	)
	return out, err
}

// complete adds the objects and the data to rows. The maps are by the numbers in the trace.
func complete(rows []row, refs map[int64]object.Ref, makers map[int64][]byte) error {
	made := map[int64]*maker{}
	for n, data := range makers {
		var err error
		if made[n], err = decodeMaker(data); err != nil {
			return fmt.Errorf("%w: origin %d: %w", store.ErrDamaged, n, err)
		}
	}
	for i := range rows {
		row := &rows[i]
		row.Object, row.by = refs[row.object], makers[row.made]
		if err := decode(row.Span, row.data, made[row.made]); err != nil {
			return fmt.Errorf("%w: span %s: %w", store.ErrDamaged, row.ID, err)
		}
		var err error
		if row.Facts, err = span.UnpackFacts(row.facts); err != nil {
			return fmt.Errorf("%w: facts of span %s: %w", store.ErrDamaged, row.ID, err)
		}
	}
	return nil
}
