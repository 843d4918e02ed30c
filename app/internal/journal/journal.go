// SPDX-License-Identifier: Apache-2.0

// Package journal keeps on disk what one server needs to continue after a kill: its state by name,
// and the pending log, the finished traces that are not archived or not sent yet. It answers no
// questions.
//
// Each look of a server is one Commit, a local transaction. The log has two consumers, the writer of
// the archive and the sender of OTLP. Neither delays a look. An entry stays until both have done it.
//
// A journal whose file is lost or damaged while it is open is replaced by an empty one. Commit then
// returns ErrRenewed once, and the caller commits everything that it needs again.
//
// Errors name the file. They wrap an error of package store where a caller may want to branch.
package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// schema has the tables. Times are Unix nanoseconds.
var schema = database.Schema{
	Name:          "journal",
	ApplicationID: 0x4c666c4a, // "LflJ"
	Migrations: []string{`
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta (name, value) VALUES ('identity', (random() & 0x7fffffffffffffff) | 1);

CREATE TABLE state (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT;

CREATE TABLE log (
  seq      INTEGER PRIMARY KEY,
  revision INTEGER NOT NULL, -- of the look
  as_of    INTEGER NOT NULL,
  trace    BLOB NOT NULL,
  amends   INTEGER NOT NULL,
  spans    INTEGER NOT NULL,
  waits    INTEGER NOT NULL, -- for which consumers
  data     BLOB NOT NULL     -- a packed trace
) STRICT;

-- the finished traces that were kept, for their amendments
CREATE TABLE kept (
  trace BLOB PRIMARY KEY,
  at    INTEGER NOT NULL,
  sent  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX kept_at ON kept (at);
`},
}

// Journal is an open journal. It is safe for concurrent use.
type Journal struct {
	path string
	// Wrote gets the duration of each Commit, and Renewed the loss and the new opening after a
	// replacement; each may be nil. They are set before the journal is shared.
	Wrote   func(time.Duration)
	Renewed func(why error, o database.Opening)

	// writing is held during a Commit, so that revisions are written in order.
	writing sync.Mutex
	// revision and seq are the last ones given.
	revision int64
	seq      uint64
	// identity is a random number from the creation of the file.
	identity atomic.Int64

	mu sync.RWMutex
	db *database.DB
	// renewals counts the replacements by an empty file.
	renewals int
	closed   bool
	// lost is the error of a database that is closed and not replaced yet.
	lost    error
	reports database.Reports
	// opening is the result of the last opening.
	opening database.Opening
}

// ErrRenewed is returned once after a lost journal was replaced by an empty one.
var ErrRenewed = errors.New("the journal was opened again")

// Open opens the journal at path, or creates one in an existing directory. A damaged one is set
// aside, see Opening.
func Open(ctx context.Context, path string) (*Journal, error) {
	j := &Journal{path: path}
	if err := j.open(ctx); err != nil {
		return nil, err
	}
	return j, nil
}

// open opens the database and reads the last numbers. A new journal begins at the present time in
// microseconds, so its revisions are higher than those of a lost one.
func (j *Journal) open(ctx context.Context) error {
	db, err := database.Replace(ctx, j.path, schema, j.reports.Damage())
	if err != nil {
		j.reports.Opened(database.Opening{}, err)
		return err
	}
	numbers := map[string]int64{}
	var name string
	var value int64
	err = db.Read(ctx, func(q database.Querier) error {
		return database.Scan(ctx, q, "SELECT name, value FROM meta", nil, []any{&name, &value}, func() error {
			numbers[name] = value
			return nil
		})
	})
	if err != nil {
		err = db.Opening().Failed(errors.Join(db.Failed(ctx, "read", err), db.Close()))
		j.reports.Opened(database.Opening{}, err)
		return err
	}
	j.db, j.opening = db, j.reports.Opened(db.Opening(), nil)
	j.revision = max(j.revision, numbers[metaRevision])
	if j.revision == 0 {
		j.revision = time.Now().UnixMicro()
	}
	j.seq = max(j.seq, uint64(numbers[metaSeq])) //nolint:gosec // it was one
	j.identity.Store(numbers[metaIdentity])
	return nil
}

// Names of numbers in the table meta.
const (
	metaRevision = "revision" // the last look
	metaSeq      = "seq"      // the last entry of the log
	metaIdentity = "identity" // a random number from the creation
	metaArchive  = "archive"  // the identity of the archive
	metaArchived = "archived" // the last look with an entry that is in the archive, or lost
)

// Opening returns the result of the last opening.
func (j *Journal) Opening() database.Opening {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.opening
}

// Path returns the path of the file.
func (j *Journal) Path() string { return j.path }

// Close closes the journal; a second call is harmless.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	if j.lost != nil {
		return nil
	}
	return j.db.Close()
}

// Sound reports whether the journal is intact and was not replaced since that many renewals.
func (j *Journal) Sound(ctx context.Context, renewals int) bool {
	return j.loss() == nil && j.Renewals() == renewals && j.database().Check(ctx) == nil
}

// Renewals returns the number of replacements.
func (j *Journal) Renewals() int {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.renewals
}

// Used returns the size of the data in the file, in bytes.
func (j *Journal) Used(ctx context.Context) (int64, error) {
	n, err := j.database().Used(ctx)
	if err != nil {
		return 0, j.database().Failed(ctx, "measure", err)
	}
	return n, nil
}

// GiveBack returns free space to the file system, and forgets the oldest kept traces beyond their
// limits.
func (j *Journal) GiveBack(ctx context.Context, keptSince time.Time) error {
	err := j.forgetKept(ctx, keptSince, maxKept)
	if err == nil {
		err = j.database().GiveBack(ctx)
	}
	if err != nil {
		return j.database().Failed(ctx, "shrink", err)
	}
	return nil
}

func (j *Journal) database() *database.DB {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.db
}

// loss returns the error of a lost journal that is not replaced yet.
func (j *Journal) loss() error {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.closed {
		return nil
	}
	return j.lost
}

// lose closes a lost database.
func (j *Journal) lose(why error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || j.lost != nil {
		return
	}
	j.lost = why
	// Its files may have been set aside just now.
	if err := j.db.Close(); errors.Is(err, store.ErrDamaged) {
		j.lost = err
	}
	j.reports.Add(j.lost)
}

// renew replaces a lost database. Its check may take longer than the caller's deadline.
func (j *Journal) renew(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return store.ErrClosed
	}
	// Its directory may have been deleted, too.
	if err := os.MkdirAll(filepath.Dir(j.path), 0o700); err != nil {
		return fmt.Errorf("cannot replace the journal: %w", err)
	}
	if err := j.open(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	why := j.lost
	j.lost = nil
	j.renewals++
	if j.Renewed != nil {
		j.Renewed(why, j.opening)
	}
	return fmt.Errorf("%w: %w", ErrRenewed, why)
}
