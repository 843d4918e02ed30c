// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"

	"github.com/kube-lifeline/lifeline/app/internal/database"
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
	err = s.db.Read(ctx, func(from database.Querier) error {
		var n int
		var b store.Bucket
		return database.Scan(
			ctx,
			from,
			"SELECT (start - ?) / ?, count(*), count(*) FILTER (WHERE outcome = ?) FROM traces"+f.String()+" GROUP BY 1",
			append([]any{nanos(q.Since), int64(q.Width()), string(span.Failed)}, f.args...),
			[]any{&n, &b.Count, &b.Failed},
			func() error {
				out.Buckets[n] = b
				return nil
			},
		)
	})
	if err != nil {
		return nil, s.db.Failed(ctx, "count traces of", err)
	}
	return out, nil
}
