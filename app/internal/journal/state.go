// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// State returns the state of that name, or store.ErrNotFound.
func (j *Journal) State(ctx context.Context, name string) ([]byte, error) {
	found, err := j.states(ctx, "name = ?", name)
	if err == nil && found[name] == nil {
		err = j.database().Failed(ctx, "find "+name+" in", store.ErrNotFound)
	}
	return found[name], err
}

// States returns all state with names that begin with prefix. It reads no other state.
func (j *Journal) States(ctx context.Context, prefix string) (map[string][]byte, error) {
	if after := successor(prefix); after != "" {
		return j.states(ctx, "name >= ? AND name < ?", prefix, after)
	}
	return j.states(ctx, "name >= ?", prefix)
}

// successor is the first name after all names with that prefix; empty if there is none.
func successor(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return ""
}

func (j *Journal) states(ctx context.Context, which string, args ...any) (map[string][]byte, error) {
	out := map[string][]byte{}
	var name string
	var value []byte
	db := j.database()
	err := db.Read(ctx, func(q database.Querier) error {
		return database.Scan(ctx, q, "SELECT name, value FROM state WHERE "+which, args, []any{&name, &value},
			func() error {
				out[name] = append([]byte{}, value...)
				return nil
			})
	})
	if err != nil {
		return nil, db.Failed(ctx, "read the state of", err)
	}
	return out, nil
}
