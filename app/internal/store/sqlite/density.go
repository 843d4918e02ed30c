// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	questions "github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Density counts the traces that match q over time.
func (s *Store) Density(ctx context.Context, q store.DensityQuery) (*store.Density, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	q.After = ""
	f, err := traceFilter(q.Query)
	if err != nil {
		return nil, err
	}
	out := &store.Density{Buckets: make([]store.Bucket, q.Buckets)}
	if q.Open {
		return out, nil // an archive has none
	}
	// The numbers of the condition's parameters follow those before it.
	of := &filter{args: []any{nanos(q.Since), int64(q.Width()), string(span.Failed), string(span.Refused)}}
	rows := "traces"
	if q.Where != nil {
		find := q.Lifecycles()
		addLifecycles(of, &find)
		rows = "(SELECT DISTINCT l.trace AS matching FROM " + questions.From(of.String()) + of.String() +
			") CROSS JOIN traces ON num = matching"
	}
	count := func(ctx context.Context, from database.Querier) error {
		var n int
		var b store.Bucket
		return database.Scan(
			ctx,
			from,
			"SELECT (start - ?) / ?, count(*), count(*) FILTER (WHERE outcome IN (?, ?)) FROM "+rows+
				f.String()+" GROUP BY 1",
			append(of.args, f.args...),
			[]any{&n, &b.Count, &b.Failed},
			func() error {
				out.Buckets[n] = b
				return nil
			},
		)
	}
	if q.Where != nil {
		err = s.ask(ctx, count)
	} else if err = s.db.Read(ctx, func(from database.Querier) error { return count(ctx, from) }); err != nil {
		err = s.db.Failed(ctx, "count traces of", err)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}
