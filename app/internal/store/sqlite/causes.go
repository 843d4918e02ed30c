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

// selectCauses selects the edges from a trace, then those from others into it; orderCauses follows,
// behind a filter of their traces.
const selectCauses = `
SELECT c.id, c.span, of_trace, of_span, parent, evidence, c.reason FROM (
	SELECT t.id, s.id AS span, t.id AS of_trace, s.parent AS of_span, 1 AS parent, s.evidence, '' AS reason, 0 AS num
		FROM traces t JOIN spans s ON s.trace = t.num WHERE t.id = ?1 AND s.parent IS NOT NULL
	UNION ALL
	SELECT t.id, l.span, l.of_trace, l.of_span, 0, l.evidence, l.reason, l.num
		FROM traces t JOIN links l ON l.trace = t.num WHERE t.id = ?1
	UNION ALL
	SELECT t.id, l.span, l.of_trace, l.of_span, 0, l.evidence, l.reason, l.num
		FROM links l JOIN traces t ON t.num = l.trace WHERE l.of_trace = ?1 AND t.id <> ?1
) c JOIN traces f ON f.id = c.id`

const orderCauses = " ORDER BY c.id <> ?1, c.id, span, parent DESC, c.num"

// Causes returns every edge from a span of the trace, and every edge from
// another trace to a span of this one.
func (s *Store) Causes(ctx context.Context, scope store.Scope, id trace.TraceID) ([]store.Cause, error) {
	var out []store.Cause
	var from, fromSpan, of, ofSpan []byte
	var c store.Cause
	f := &filter{}
	f.visible(scope, "f")
	if of := (&filter{}); !scope.All() { // the trace may be unknown here, and open in memory
		of.visible(scope, "me")
		f.add("NOT EXISTS (SELECT 1 FROM traces me WHERE me.id = ?1 AND me.phase > 0 AND NOT ("+
			strings.Join(of.terms, " AND ")+"))", of.args...)
	}
	err := s.db.Read(ctx, func(q database.Querier) error {
		return database.Scan(ctx, q, selectCauses+f.String()+orderCauses, append([]any{id[:]}, f.args...),
			[]any{&from, &fromSpan, &of, &ofSpan, &c.Parent, &c.Evidence, &c.Reason}, func() error {
				c.TraceID, c.SpanID, c.OfTrace, c.OfSpan = traceID(from), spanID(fromSpan), traceID(of), spanID(ofSpan)
				out = append(out, c)
				return nil
			})
	})
	if err != nil {
		return nil, s.db.Failed(ctx, fmt.Sprintf("read causes of trace %s from", id), err)
	}
	return out, nil
}
