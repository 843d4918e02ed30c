// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
)

// ReadOnly is a database that is read as it is, in its own version. It is safe for concurrent use.
type ReadOnly struct {
	path    string
	schema  Schema
	version int
	pool    *sql.DB
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

// Failed is as in DB.
func (d *ReadOnly) Failed(ctx context.Context, doing string, err error) error {
	return d.schema.failed(ctx, doing, d.path, err)
}

// Close releases the database. A second call does nothing.
func (d *ReadOnly) Close() error {
	if d.pool == nil {
		return nil
	}
	return d.pool.Close()
}
