// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// place says which batch a part is from.
type place struct {
	amends bool
	// revision is the revision of the batch; 0 for that of the trace's valid version.
	revision int64
}

// compare orders parts: the valid version first, amendments last.
func (p place) compare(q place) int {
	switch {
	case p.amends != q.amends && q.amends:
		return -1
	case p.amends != q.amends:
		return 1
	case p.revision < q.revision:
		return -1
	case p.revision > q.revision:
		return 1
	}
	return 0
}

// part is the spans of one batch in a trace, in their order.
type part struct {
	place
	// num is the key of the row; 0 for a part without one.
	num   int64
	spans []*span.Span
}

// partBits are the low bits of a part's number: its place in the trace. The others are the number of
// the trace, so that the parts of a trace are neighbours.
const partBits = 20

// firstPart returns the lowest number of a part of the trace; the parts of the next trace follow.
func firstPart(trace int64) int64 { return trace << partBits }

// readParts reads the parts of a trace in their order. Damaged ones are store.ErrDamaged.
func readParts(ctx context.Context, from database.Querier, num int64, id trace.TraceID) ([]part, error) {
	return scanParts(ctx, from, id, "WHERE num >= ? AND num < ?", firstPart(num), firstPart(num+1))
}

// scanParts reads the parts of a trace that a condition selects.
func scanParts(
	ctx context.Context, from database.Querier, id trace.TraceID, which string, args ...any,
) ([]part, error) {
	var out []part
	err := eachPart(ctx, from, id, which, args, func(p part) error {
		out = append(out, p)
		return nil
	})
	slices.SortFunc(out, func(a, b part) int { return a.compare(b.place) })
	return out, err
}

// eachPart calls do for each part of a trace that a condition selects.
func eachPart(
	ctx context.Context, from database.Querier, id trace.TraceID, which string, args []any, do func(part) error,
) error {
	var p part
	var digest int64
	var data []byte
	return database.Scan(
		ctx, from, "SELECT num, amends, revision, digest, data FROM parts "+which, args,
		[]any{&p.num, &p.amends, &p.revision, &digest, &data},
		func() error {
			if digest != p.digest(id, data) {
				return fmt.Errorf("%w: trace %s is not as it was written", store.ErrDamaged, id)
			}
			t, err := unseal(data)
			if err != nil {
				return fmt.Errorf("%w: trace %s: %w", store.ErrDamaged, id, err)
			}
			one := p
			one.spans = t.Spans
			return do(one)
		},
	)
}

// write stores a part. A part without spans is removed.
func (p *part) write(ctx context.Context, tx *database.Tx, id trace.TraceID) error {
	if len(p.spans) == 0 {
		return tx.Exec(ctx, "DELETE FROM parts WHERE num = ?", p.num)
	}
	data, err := seal(&span.Trace{ID: id, Spans: p.spans})
	if err != nil {
		return err
	}
	return tx.Exec(
		ctx, "INSERT OR REPLACE INTO parts (num, amends, revision, digest, data) VALUES (?, ?, ?, ?, ?)",
		p.num, p.amends, p.revision, p.digest(id, data), data,
	)
}

// digest returns a hash of a stored part. Damaged rows are found by it.
func (p *part) digest(id trace.TraceID, data []byte) int64 {
	head := make([]byte, 0, 32)
	head = append(head, id[:]...)
	if p.amends {
		head = append(head, 1)
	}
	head = binary.BigEndian.AppendUint64(head, uint64(p.revision)) //nolint:gosec // all 64 bits count
	h := xxhash.New()
	_, _ = h.Write(head) // it never fails
	_, _ = h.Write(data)
	return int64(h.Sum64()) //nolint:gosec // all 64 bits count
}

// all returns the spans of parts.
func all(parts []part) (out []*span.Span) {
	for _, p := range parts {
		out = append(out, p.spans...)
	}
	return out
}

// traceID and spanID return the zero ID for invalid bytes.
func traceID(raw []byte) (id trace.TraceID) {
	copy(id[:], raw)
	return id
}

func spanID(raw []byte) (id trace.SpanID) {
	copy(id[:], raw)
	return id
}
