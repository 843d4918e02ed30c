// SPDX-License-Identifier: Apache-2.0

// Package sqlite is the store's engine for one process and one machine: a SQLite database in
// write-ahead mode, in pure Go.
//
// One connection writes and a few read. Each result is from one snapshot. A batch is one
// transaction and survives the process. A power failure may lose the last batches together with
// their state. A lock file beside the database excludes a second process. The log beside it is
// emptied as soon as no reader needs it. It does not count as data.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// readers bounds the concurrent queries.
const readers = 4

// Store is an open database. It is a store.Store.
type Store struct {
	path    string
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
	// last is the highest number of a trace.
	last int64
	// files are the database and its log; lost is set when another program has
	// deleted or overwritten one of them.
	files []*file
	lost  error
	// inspected is the last time that the whole database was read because another
	// program had changed a file, and took how long that took.
	inspected time.Time
	took      time.Duration
}

var _ store.Store = (*Store)(nil)

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
func Open(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, failed(ctx, "open store", path, err)
	}
	held, err := lock(path)
	if err != nil {
		return nil, failed(ctx, "open store", path, err)
	}
	s := &Store{path: path, lock: held}
	err = s.connect(ctx)
	if damaged(err) && ctx.Err() == nil {
		if s.opening, err = setAside(path, time.Now(), classify(err)); err == nil {
			err = s.connect(ctx)
		}
	}
	if err != nil {
		return nil, errors.Join(failed(ctx, "open store", path, err), held.Close())
	}
	return s, nil
}

// Opening returns the result of Open.
func (s *Store) Opening() Opening { return s.opening }

// Close waits for running calls and releases the database. It returns an error if the files have
// disappeared, unless an earlier call already returned that error.
func (s *Store) Close() error {
	s.calls.Lock()
	defer s.calls.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var err error
	if s.lost == nil {
		err = s.moved()
	}
	// The readers close first: the last connection cleans up and may write.
	err = errors.Join(err, s.readers.Close(), s.disconnect(), s.lock.Close())
	if err != nil {
		return failed(context.Background(), "close store", s.path, err)
	}
	return nil
}

// disconnect closes the writer's connection, statements and files.
func (s *Store) disconnect() error {
	var errs []error
	for _, st := range s.stmts {
		errs = append(errs, st.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.Close())
	}
	return errors.Join(append(errs, closeFiles(s.files), s.pool.Close())...)
}
