// SPDX-License-Identifier: Apache-2.0

// Package database opens a SQLite database for one process, in pure Go: an exclusive lock beside
// it, a schema that is migrated, a check of the whole file, and a new file in place of a damaged
// one. The tables are those of its callers.
//
// One connection writes and a few read, in write-ahead mode. Each Read is from one snapshot. A
// Write survives the process. A power failure may lose the last ones. The log beside the database
// is emptied as soon as no reader needs it. It does not count as data.
//
// Errors name the database, and wrap an error of package store where a caller may want to branch.
package database

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// readers bounds the concurrent queries.
const readers = 4

// Schema describes the databases of one caller.
type Schema struct {
	// Name is the database in errors, such as "archive".
	Name string
	// ApplicationID marks the files of this schema.
	ApplicationID int
	// Migrations are SQL scripts that lead from each version to the next. A released one is never
	// edited; each change is a new entry.
	Migrations []string
	// Oldest is the oldest version whose programs may use a file of the newest one, as the migrations since
	// then only add: tables, indexes, and columns with a default. Such a program sees and keeps the data that
	// it supports. Its rows have no data for the others, so a default means "not known". 0 means that only
	// programs of the newest version may use the file.
	Oldest int
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	path    string
	schema  Schema
	opening Opening
	lock    *os.File
	readers *sql.DB

	// calls is held for reading by every call, and for writing by Close.
	calls  sync.RWMutex
	closed bool

	// mu guards the fields below. Every write holds it.
	mu     sync.Mutex
	pool   *sql.DB
	writer *sql.Conn
	// stmts are the writer's prepared statements, by text.
	stmts map[string]*sql.Stmt
	// files are the database and its log; lost is set when another program has
	// deleted or overwritten one of them.
	files []*file
	lost  error
	// inspected is the last time that the whole database was read because another
	// program had changed a file, and took how long that took.
	inspected time.Time
	took      time.Duration
}

// Opening is the result of Open.
type Opening struct {
	// SetAside is the new path of a damaged database, and Why the damage; empty without damage. The
	// new database has no data of the old one.
	SetAside string
	Why      error
	// Version is the schema's version before Open: 0 for a new database.
	Version int
}

// Open opens the database at path, or creates one in an existing directory. It checks the whole
// file, in about four seconds for each GB. An unreadable file is renamed together with its
// neighbours, and a new one is created; see Opening. A healthy database of another program, or of a
// newer version, stays unchanged and is an error.
func Open(ctx context.Context, path string, schema Schema) (*DB, error) {
	return Replace(ctx, path, schema, nil)
}

// Replace is Open for a database with known damage, which wraps store.ErrDamaged: the file is
// renamed without a check. Nil means that no damage is known. An error after the renaming is a
// SetAsideError.
func Replace(ctx context.Context, path string, schema Schema, damage error) (*DB, error) {
	d := &DB{path: path, schema: schema}
	var err error
	if d.path, err = filepath.Abs(path); err != nil {
		return nil, d.Failed(ctx, "open", err)
	}
	if d.lock, err = lock(d.path); err != nil {
		return nil, d.Failed(ctx, "open", err)
	}
	if err = damage; err == nil {
		err = d.connect(ctx)
	}
	if damaged(err) && ctx.Err() == nil {
		if d.opening, err = setAside(d.path, time.Now(), classify(err)); err == nil {
			err = d.connect(ctx)
		}
	}
	if err != nil {
		return nil, d.opening.Failed(errors.Join(d.Failed(ctx, "open", err), d.lock.Close()))
	}
	return d, nil
}

// Path returns the absolute path of the database.
func (d *DB) Path() string { return d.path }

// Opening returns the result of Open.
func (d *DB) Opening() Opening { return d.opening }

// Close waits for running calls and releases the database. It returns an error if the files have
// disappeared, unless an earlier call already returned that error. A second call does nothing.
func (d *DB) Close() error {
	d.calls.Lock()
	defer d.calls.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	var err error
	if d.lost == nil {
		err = d.moved()
	}
	// The readers close first: the last connection cleans up and may write.
	err = errors.Join(err, d.readers.Close(), d.disconnect(), d.lock.Close())
	if err != nil {
		return d.Failed(context.Background(), "close", err)
	}
	return nil
}

// disconnect closes the writer's connection, statements and files.
func (d *DB) disconnect() error {
	var errs []error
	for _, st := range d.stmts {
		errs = append(errs, st.Close())
	}
	if d.writer != nil {
		errs = append(errs, d.writer.Close())
	}
	return errors.Join(append(errs, closeFiles(d.files), d.pool.Close())...)
}
