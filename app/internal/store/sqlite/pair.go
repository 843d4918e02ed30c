// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

var _ store.Paired = (*Store)(nil)

// Pair implements store.Paired.
func (s *Store) Pair(ctx context.Context) (store.Pair, error) {
	var out store.Pair
	to := map[string]*int64{metaIdentity: &out.Archive, metaJournal: &out.Journal, metaCommit: &out.Commit}
	var name string
	var value int64
	err := s.db.Read(ctx, func(q database.Querier) error {
		return database.Scan(ctx, q, "SELECT name, value FROM meta", nil, []any{&name, &value}, func() error {
			if number := to[name]; number != nil {
				*number = value
			}
			return nil
		})
	})
	if err != nil {
		return store.Pair{}, s.db.Failed(ctx, "read the identity of", err)
	}
	return out, nil
}
