// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// enter begins a call. Close waits for its leave.
func (s *Store) enter() (leave func(), err error) {
	s.calls.RLock()
	if s.closed {
		s.calls.RUnlock()
		return nil, store.ErrClosed
	}
	return s.calls.RUnlock, nil
}

// transaction runs do with the writer's connection, and keeps all of its changes or none. A waiting
// writer waits for one transaction at most.
func (s *Store) transaction(ctx context.Context, do func(*writing) error) error {
	leave, err := s.enter()
	if err != nil {
		return err
	}
	defer leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &writing{s: s, cancelled: ctx.Err}
	// An interrupted statement may roll back the transaction. So ctx ends it only between
	// statements, which are all short.
	steady := context.WithoutCancel(ctx)
	if err := s.guard(steady); err != nil {
		return err
	}
	defer s.note()
	if err := w.exec(steady, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err = do(w)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = w.exec(steady, "COMMIT")
	}
	if err != nil {
		_ = w.exec(steady, "ROLLBACK") // an error if SQLite already did so
	}
	return err
}

// writing is a transaction that writes.
type writing struct {
	s         *Store
	cancelled func() error
}

// statement prepares query once for all transactions.
func (w *writing) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	if st := w.s.stmts[query]; st != nil {
		return st, nil
	}
	st, err := w.s.writer.PrepareContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%.60q: %w", query, err)
	}
	w.s.stmts[query] = st
	return st, nil
}

func (w *writing) exec(ctx context.Context, query string, args ...any) error {
	st, err := w.statement(ctx, query)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(ctx, args...)
	return err
}

// QueryContext makes a transaction a querier.
func (w *writing) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st, err := w.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

// querier is a source of rows: a snapshot, or a writing transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// scan calls each after every row, with the row's columns in to.
func scan(ctx context.Context, from querier, query string, args, to []any, each func() error) error {
	rows, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		if err := each(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// snapshot runs do with a connection that reads one moment of the database.
func (s *Store) snapshot(ctx context.Context, do func(querier) error) error {
	leave, err := s.enter()
	if err != nil {
		return err
	}
	defer leave()
	tx, err := s.readers.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	return do(tx)
}
