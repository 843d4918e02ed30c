// SPDX-License-Identifier: Apache-2.0

// Package sqlite is the store's engine for one process and one machine: a
// SQLite database in write-ahead mode, in pure Go.
//
// One connection writes and a few read, each answer from a snapshot. A batch is
// one transaction; it survives the process, and a machine that loses power may
// lose the last ones, together with their state. A lock file beside the
// database keeps a second process out. The log beside it is emptied as soon as
// no reader needs it, and not counted as data.
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

// readers is how many questions are answered at the same time.
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

	// mu is held by whoever writes, and guards what follows.
	mu     sync.Mutex
	pool   *sql.DB
	writer *sql.Conn
	// stmts are the writer's prepared statements, by their text.
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

// Opening tells what Open has found.
type Opening struct {
	// SetAside is where a damaged database was moved to, and Why what was
	// wrong with it; empty if nothing was. Nothing of it is in the new one.
	SetAside string
	Why      error
	// Version is that of the schema as it was found: 0 for a new database.
	Version int
}

// Open opens the database at path, or begins one; its directory must be there.
// The file is checked as a whole, which takes about four seconds for each GB. A file
// that cannot be read as a database is renamed, with what stands beside it, and
// a new one begun: Opening tells. A healthy one of another program, or of a
// newer version, stays as it is, and is an error.
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

// Opening tells what Open has found.
func (s *Store) Opening() Opening { return s.opening }

// Close waits for the calls that are under way and gives the database free. It is
// an error if the files are gone by then, unless a call before has returned that.
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
	// The readers first: the last connection tidies up, and may write.
	err = errors.Join(err, s.readers.Close(), s.disconnect(), s.lock.Close())
	if err != nil {
		return failed(context.Background(), "close store", s.path, err)
	}
	return nil
}

// disconnect closes what writes.
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
