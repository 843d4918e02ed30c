// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// State returns the state of that name.
func (s *Store) State(ctx context.Context, name string) ([]byte, error) {
	found, err := s.states(ctx, "name = ?", name)
	if err == nil && len(found) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, failed(ctx, fmt.Sprintf("read state %q from store", name), s.path, err)
	}
	return found[name], nil
}

// States returns all state with names that begin with prefix. It reads no other state.
func (s *Store) States(ctx context.Context, prefix string) (map[string][]byte, error) {
	which, args := "name >= ?", []any{prefix}
	if after := successor(prefix); after != "" {
		which, args = which+" AND name < ?", append(args, after)
	}
	found, err := s.states(ctx, which, args...)
	if err != nil {
		return nil, failed(ctx, fmt.Sprintf("read states %q from store", prefix), s.path, err)
	}
	return found, nil
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

func (s *Store) states(ctx context.Context, which string, args ...any) (map[string][]byte, error) {
	out := map[string][]byte{}
	var name string
	var value []byte
	err := s.snapshot(ctx, func(q querier) error {
		return scan(ctx, q, "SELECT name, value FROM state WHERE "+which, args, []any{&name, &value}, func() error {
			out[name] = append([]byte{}, value...)
			return nil
		})
	})
	return out, err
}
