// SPDX-License-Identifier: Apache-2.0

package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// enter begins a call. Close waits for its leave.
func (d *DB) enter() (leave func(), err error) {
	d.calls.RLock()
	if d.closed {
		d.calls.RUnlock()
		return nil, store.ErrClosed
	}
	return d.calls.RUnlock, nil
}

// exclusive begins a call that has the writer to itself. Other writers, and Close, wait for its leave.
func (d *DB) exclusive() (leave func(), err error) {
	done, err := d.enter()
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	return func() { d.mu.Unlock(); done() }, nil
}

// Write runs do in a transaction, and keeps all of its changes or none. A waiting writer waits for
// one transaction at most. The context of do does not end with ctx: an interrupted statement may
// roll back the transaction. Cancelled of the Tx returns the end of ctx, for between statements.
// Errors are those of do and of SQLite; Failed makes them ready for a caller.
func (d *DB) Write(ctx context.Context, do func(context.Context, *Tx) error) error {
	leave, err := d.exclusive()
	if err != nil {
		return err
	}
	defer leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &Tx{d: d, Cancelled: ctx.Err}
	steady := context.WithoutCancel(ctx)
	if err := d.guard(steady); err != nil {
		return err
	}
	defer d.note()
	if err := w.exec(steady, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err = do(steady, w)
	err = cmp.Or(err, w.failed, ctx.Err())
	if err == nil {
		err = w.exec(steady, "COMMIT")
	}
	if err != nil {
		_ = w.exec(steady, "ROLLBACK") // an error if SQLite already did so
	}
	if w.overwrites {
		err = errors.Join(err, w.exec(steady, "PRAGMA secure_delete = FAST"))
	}
	return err
}

// Tx is a transaction that writes. Nothing runs after a failed statement: SQLite may have rolled back the
// transaction, such as on a full disk, and a later statement would be stored alone.
type Tx struct {
	d          *DB
	overwrites bool
	// failed is the error of the failed statement.
	failed error
	// Cancelled returns the error of the context of Write.
	Cancelled func() error
}

// statement prepares query once for all transactions.
func (w *Tx) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	if st := w.d.stmts[query]; st != nil {
		return st, nil
	}
	st, err := w.d.writer.PrepareContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%.60q: %w", query, err)
	}
	w.d.stmts[query] = st
	return st, nil
}

// Overwrite lets the transaction overwrite pages that it frees. All transactions overwrite deleted
// rows in other pages.
func (w *Tx) Overwrite(ctx context.Context) error {
	w.overwrites = true
	return w.Exec(ctx, "PRAGMA secure_delete = ON")
}

// Exec runs a statement, without its rows. After a failed statement it returns that error.
func (w *Tx) Exec(ctx context.Context, query string, args ...any) error {
	if w.failed == nil {
		w.failed = w.exec(ctx, query, args...)
	}
	return w.failed
}

func (w *Tx) exec(ctx context.Context, query string, args ...any) error {
	st, err := w.statement(ctx, query)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(ctx, args...)
	return err
}

// QueryContext makes a transaction a Querier. After a failed statement it returns that error.
func (w *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if w.failed != nil {
		return nil, w.failed
	}
	st, err := w.statement(ctx, query)
	if err != nil {
		w.failed = err
		return nil, err
	}
	rows, err := st.QueryContext(ctx, args...)
	w.failed = err
	return rows, err
}

// Querier is a source of rows: a snapshot, or a writing transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Scan calls each after every row, with the row's columns in to.
func Scan(ctx context.Context, from Querier, query string, args, to []any, each func() error) error {
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

// Read runs do with a connection that reads one moment of the database.
func (d *DB) Read(ctx context.Context, do func(Querier) error) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	return read(ctx, d.readers, do)
}

func read(ctx context.Context, from *sql.DB, do func(Querier) error) error {
	tx, err := from.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	return do(tx)
}
