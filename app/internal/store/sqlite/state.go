// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// State returns what a batch has kept under that name.
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

// States returns all state whose names begin with prefix.
func (s *Store) States(ctx context.Context, prefix string) (map[string][]byte, error) {
	found, err := s.states(ctx, "substr(name, 1, length(?1)) = ?1 AND name >= ?1", prefix)
	if err != nil {
		return nil, failed(ctx, fmt.Sprintf("read states %q from store", prefix), s.path, err)
	}
	return found, nil
}

func (s *Store) states(ctx context.Context, which string, arg any) (map[string][]byte, error) {
	out := map[string][]byte{}
	var name string
	var value []byte
	err := s.snapshot(ctx, func(q querier) error {
		return scan(ctx, q, "SELECT name, value FROM state WHERE "+which, []any{arg}, []any{&name, &value}, func() error {
			out[name] = append([]byte{}, value...)
			return nil
		})
	})
	return out, err
}
