// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Causes returns every edge from a span of the trace, and every edge from
// another trace to a span of this one.
func (s *Store) Causes(ctx context.Context, scope store.Scope, id trace.TraceID) ([]store.Cause, error) {
	f := &filter{}
	f.add("t.id = ?", id[:])
	f.touching(scope, "t")
	in := &filter{}
	in.add("l.of_trace = ? AND t.id <> l.of_trace", id[:])
	in.touching(scope, "t")
	if of := (&filter{}); !scope.All() { // the trace may be unknown here, and open in memory
		of.touching(scope, "me")
		in.add("NOT EXISTS (SELECT 1 FROM traces me WHERE me.id = l.of_trace AND me.phase > 0 AND NOT ("+
			strings.Join(of.terms, " AND ")+"))", of.args...)
	}
	var out []store.Cause
	err := s.db.Read(ctx, func(q database.Querier) error {
		num := int64(-1)
		if err := database.Scan(
			ctx, q, "SELECT t.num FROM traces t"+f.String(), f.args, []any{&num}, nothing,
		); err != nil {
			return err
		}
		if num >= 0 {
			parts, err := readParts(ctx, q, num, id)
			if err != nil {
				return err
			}
			for _, one := range all(parts) {
				out = append(out, store.CausesOf(one)...)
			}
		}
		var from, span, ofSpan []byte
		c := store.Cause{OfTrace: id}
		return database.Scan(
			ctx, q, "SELECT t.id, l.span, l.of_span, l.evidence, l.reason FROM links l "+
				"JOIN traces t ON t.num = l.trace"+in.String()+" ORDER BY t.id, l.span, l.num", in.args,
			[]any{&from, &span, &ofSpan, &c.Evidence, &c.Reason}, func() error {
				c.TraceID, c.SpanID, c.OfSpan = traceID(from), spanID(span), spanID(ofSpan)
				out = append(out, c)
				return nil
			},
		)
	})
	if err != nil {
		return nil, s.db.Failed(ctx, fmt.Sprintf("read causes of trace %s from", id), err)
	}
	store.SortCauses(id, out)
	return out, nil
}
