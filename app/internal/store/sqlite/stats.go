// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Stats counts the stored data.
func (s *Store) Stats(ctx context.Context, scope store.Scope) (store.Stats, error) {
	f := &filter{}
	f.visible(scope, "traces")
	var out store.Stats
	var oldest sql.NullInt64
	err := s.db.Read(ctx, func(q database.Querier) error {
		if err := database.Scan(
			ctx,
			q,
			`SELECT coalesce(sum(phase > 0), 0), coalesce(sum(spans), 0), `+
				`coalesce(sum(writes), 0),
			min(CASE WHEN phase > 0 THEN start END) FROM traces`+f.String(),
			f.args,
			[]any{&out.Traces, &out.Spans, &out.Writes, &oldest},
			nothing,
		); err != nil {
			return err
		}
		if !scope.All() {
			return nil
		}
		if err := database.Scan(ctx, q, "SELECT value FROM meta WHERE name = ?",
			[]any{metaRevision}, []any{&out.Revision}, nothing); err != nil {
			return err
		}
		return database.Scan(ctx, q, database.SelectBytes, nil, []any{&out.Bytes}, nothing)
	})
	if err != nil {
		return store.Stats{}, s.db.Failed(ctx, "count what is in", err)
	}
	out.Oldest = optionalMoment(oldest)
	return out, nil
}
