// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// selectBytes is the size of all used pages.
const selectBytes = `SELECT (pages.page_count - free.freelist_count) * size.page_size
	FROM pragma_page_count pages, pragma_freelist_count free, pragma_page_size size`

// Stats counts the stored data.
func (s *Store) Stats(ctx context.Context) (store.Stats, error) {
	var out store.Stats
	var oldest sql.NullInt64
	nothing := func() error { return nil }
	err := s.snapshot(ctx, func(q querier) error {
		if err := scan(
			ctx,
			q,
			`SELECT coalesce(sum(phase > 0), 0), coalesce(sum(phase = 1), 0), coalesce(sum(spans), 0), `+
				`coalesce(sum(writes), 0),
			min(CASE WHEN phase > 0 THEN start END) FROM traces`,
			nil,
			[]any{&out.Traces, &out.Open, &out.Spans, &out.Writes, &oldest},
			nothing,
		); err != nil {
			return err
		}
		if err := scan(
			ctx,
			q,
			"SELECT value FROM meta WHERE name = ?",
			[]any{metaRevision},
			[]any{&out.Revision},
			nothing,
		); err != nil {
			return err
		}
		return scan(ctx, q, selectBytes, nil, []any{&out.Bytes}, nothing)
	})
	if err != nil {
		return store.Stats{}, failed(ctx, "count what is in store", s.path, err)
	}
	out.Oldest = optionalMoment(oldest)
	return out, nil
}
