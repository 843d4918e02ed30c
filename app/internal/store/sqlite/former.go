// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Former is a store of an earlier version, which also held the state and the open traces of its
// server. Open removes both, so the server reads them first.
type Former struct {
	db *database.ReadOnly
}

// OpenFormer opens the store at path without a change, and locks it. It returns nil if there is
// nothing to take over: without a file, and for an archive of this version. Errors are those of
// Open; a damaged store stays in its place.
func OpenFormer(ctx context.Context, path string) (*Former, error) {
	db, err := database.OpenFormer(ctx, path, schema)
	if db == nil || err != nil {
		return nil, err
	}
	if v := db.Version(); v == 0 || v > formerVersion {
		return nil, db.Close()
	}
	for _, table := range []string{"meta", "state"} {
		if err := db.Verify(ctx, table); err != nil {
			return nil, errors.Join(db.Failed(ctx, "take over", err), db.Close())
		}
	}
	return &Former{db: db}, nil
}

// Close releases the store.
func (f *Former) Close() error { return f.db.Close() }

// Revision returns the highest of all batches.
func (f *Former) Revision(ctx context.Context) (int64, error) {
	var out int64
	err := f.db.Read(ctx, func(q database.Querier) error {
		return database.Scan(
			ctx,
			q,
			"SELECT value FROM meta WHERE name = ?",
			[]any{metaRevision},
			[]any{&out},
			nothing,
		)
	})
	if err != nil {
		return 0, f.db.Failed(ctx, "read the revision of", err)
	}
	return out, nil
}

// States returns all state with names that begin with prefix.
func (f *Former) States(ctx context.Context, prefix string) (map[string][]byte, error) {
	out := map[string][]byte{}
	var name string
	var value []byte
	err := f.db.Read(ctx, func(q database.Querier) error {
		return database.Scan(
			ctx,
			q,
			"SELECT name, value FROM state WHERE substr(CAST(name AS BLOB), 1, ?) = ?",
			[]any{len(prefix), []byte(prefix)},
			[]any{&name, &value},
			func() error { out[name] = append([]byte{}, value...); return nil },
		)
	})
	if err != nil {
		return nil, f.db.Failed(ctx, fmt.Sprintf("read the state %q of", prefix), err)
	}
	return out, nil
}

// OpenTraces returns the open traces with all their spans, and the number of those that cannot be
// read.
func (f *Former) OpenTraces(ctx context.Context) (out []*store.Record, skipped int, err error) {
	var heads []former
	err = f.db.Read(ctx, func(q database.Querier) error {
		var err error
		if heads, err = formers(ctx, q, "phase = ?", open); err != nil {
			return err
		}
		for _, h := range heads {
			r, err := f.record(ctx, q, h)
			switch {
			case err == nil:
				out = append(out, r)
			case ctx.Err() != nil:
				return err
			default:
				skipped++
			}
		}
		return nil
	})
	if err != nil {
		return nil, 0, f.db.Failed(ctx, "read the open traces of", err)
	}
	return out, skipped, nil
}

// Finished returns the IDs of the finished traces.
func (f *Former) Finished(ctx context.Context) ([]trace.TraceID, error) {
	var out []trace.TraceID
	var id []byte
	err := f.db.Read(ctx, func(q database.Querier) error {
		return database.Scan(ctx, q, "SELECT id FROM traces WHERE phase = ?", []any{finished}, []any{&id},
			func() error { out = append(out, traceID(id)); return nil })
	})
	if err != nil {
		return nil, f.db.Failed(ctx, "read the IDs of traces from", err)
	}
	return out, nil
}

// Trace returns one trace with all its spans, or store.ErrNotFound.
func (f *Former) Trace(ctx context.Context, id trace.TraceID) (*store.Record, error) {
	var out *store.Record
	err := f.db.Read(ctx, func(q database.Querier) error {
		found, err := formers(ctx, q, "id = ? AND phase > 0", id[:])
		if err == nil && len(found) == 0 {
			err = store.ErrNotFound
		}
		if err == nil {
			out, err = f.record(ctx, q, found[0])
		}
		return err
	})
	if err != nil {
		return nil, f.db.Failed(ctx, fmt.Sprintf("read trace %s from", id), err)
	}
	return out, nil
}

// former is the row of a trace in a store of any version.
type former struct {
	num      int64
	id       trace.TraceID
	phase    phase
	revision int64
	asOf     int64
	outcome  span.Outcome
	reason   string
}

func formers(ctx context.Context, from database.Querier, where string, args ...any) ([]former, error) {
	var out []former
	var h former
	var id []byte
	err := database.Scan(
		ctx,
		from,
		"SELECT num, id, phase, revision, as_of, outcome, reason FROM traces WHERE "+where+" ORDER BY num",
		args,
		[]any{&h.num, &id, &h.phase, &h.revision, &h.asOf, &h.outcome, &h.reason},
		func() error { h.id = traceID(id); out = append(out, h); return nil },
	)
	return out, err
}

// record reads the spans of a trace. The summary is derived anew, without the amendments.
func (f *Former) record(ctx context.Context, from database.Querier, h former) (*store.Record, error) {
	r := &reading{Querier: from, version: f.db.Version()}
	rows, err := r.spans(ctx, h.num, h.id, true)
	if err != nil {
		return nil, err
	}
	tr := &span.Trace{ID: h.id, Outcome: h.outcome, Reason: h.reason}
	own := *tr
	for _, row := range rows {
		tr.Spans = append(tr.Spans, row.Span)
		if !row.amends {
			own.Spans = append(own.Spans, row.Span)
		}
	}
	out := &store.Record{Summary: store.Summarize(&own, moment(h.asOf)), Trace: tr}
	out.Open, out.AsOf, out.Revision, out.Spans = h.phase == open, moment(h.asOf), h.revision, len(rows)
	return out, nil
}
