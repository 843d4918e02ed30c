// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// ReadOnly is a database that is read as it is, in its own version. It is safe for concurrent use.
type ReadOnly struct {
	path    string
	schema  Schema
	version int
	lock    *os.File
	pool    *sql.DB
}

// OpenFormer opens the database at path for reading, and locks it. It returns nil without a file or
// with an empty one. Nothing is checked, migrated or set aside; Verify checks single tables.
func OpenFormer(ctx context.Context, path string, schema Schema) (*ReadOnly, error) {
	d := &ReadOnly{path: path, schema: schema}
	var err error
	if d.path, err = filepath.Abs(path); err != nil {
		return nil, d.Failed(ctx, "open", err)
	}
	if info, err := os.Stat(d.path); errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil, nil //nolint:nilnil // documented
	}
	if d.lock, err = lock(d.path); err == nil {
		err = d.connect(ctx)
	}
	if err != nil {
		return nil, errors.Join(d.Failed(ctx, "open", err), d.Close())
	}
	return d, nil
}

// OpenUnlocked opens a database for reading without its lock: a file that Open or Check has set aside,
// or one that a process uses meanwhile, without a hindrance for it.
func OpenUnlocked(ctx context.Context, path string, schema Schema) (*ReadOnly, error) {
	d := &ReadOnly{path: path, schema: schema}
	var err error
	if d.path, err = filepath.Abs(path); err != nil {
		return nil, d.Failed(ctx, "read", err)
	}
	if _, err = os.Stat(d.path); err == nil {
		err = d.connect(ctx)
	}
	if err != nil {
		return nil, errors.Join(d.Failed(ctx, "read", err), d.Close())
	}
	return d, nil
}

func (d *ReadOnly) connect(ctx context.Context) error {
	var err error
	pragmas := []string{"query_only(1)", "busy_timeout(5000)", "cell_size_check(1)"}
	if d.pool, err = sql.Open("sqlite", address(d.path, "ro", pragmas...)); err != nil {
		return err
	}
	d.pool.SetMaxOpenConns(1)
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return err
	}
	d.version, err = d.schema.version(ctx, conn)
	return errors.Join(err, conn.Close())
}

// Version returns the version of the schema; 0 for a database without tables.
func (d *ReadOnly) Version() int { return d.version }

// Path returns the path of the database.
func (d *ReadOnly) Path() string { return d.path }

// Read runs do with a connection that reads one moment of the database.
func (d *ReadOnly) Read(ctx context.Context, do func(Querier) error) error {
	return read(ctx, d.pool, do)
}

// Connection runs do with the only connection. The next one has its settings, too.
func (d *ReadOnly) Connection(ctx context.Context, do func(*sql.Conn) error) error {
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return d.Failed(ctx, "read", err)
	}
	return errors.Join(do(conn), conn.Close())
}

// Verify reads the whole table. It returns store.ErrDamaged if that is not possible.
func (d *ReadOnly) Verify(ctx context.Context, table string) error {
	var problem string
	if err := d.pool.QueryRowContext(ctx, fmt.Sprintf("PRAGMA quick_check('%s')", table)).Scan(&problem); err != nil {
		return err
	}
	if problem != "ok" {
		return fmt.Errorf("%w: %s", store.ErrDamaged, problem)
	}
	return nil
}

// Failed is as in DB.
func (d *ReadOnly) Failed(ctx context.Context, doing string, err error) error {
	return d.schema.failed(ctx, doing, d.path, err)
}

// Close releases the database. A second call does nothing.
func (d *ReadOnly) Close() error {
	var errs []error
	if d.pool != nil {
		errs = append(errs, d.pool.Close())
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Close())
		d.lock = nil
	}
	return errors.Join(errs...)
}
