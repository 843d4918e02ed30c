// SPDX-License-Identifier: Apache-2.0

// Package sqlite is the archive's engine for one process and one machine: tables in a SQLite
// database. Package database holds the file: its lock, its checks and its transactions.
//
// A batch is one transaction. Each result is from one snapshot.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Store is an open archive. It is a store.Archive.
type Store struct {
	db *database.DB
	// learned has the rollups and the samples.
	learned *learner
	// last is the highest number of a trace. Only a writing transaction uses it.
	last int64
	// lastLifecycle is the highest number of a lifecycle. Only a writing transaction uses it.
	lastLifecycle int64
	// tidied is the Limits.Before of the last exact tidy by Prune. Only Prune uses it.
	tidied    time.Time
	questions *store.Limiter
}

var (
	_ store.Archive   = (*Store)(nil)
	_ store.Backupper = (*Store)(nil)
)

// Open opens the archive at c.Path, or creates one in an existing directory. For damaged files and
// errors see database.Open.
func Open(ctx context.Context, c store.Config) (*Store, error) {
	if err := register(); err != nil {
		return nil, fmt.Errorf("cannot open archive %s: %w", c.Path, err)
	}
	db, err := database.Replace(ctx, c.Path, schema, c.Damage)
	if err != nil {
		return nil, err
	}
	s := &Store{
		db:        db,
		questions: store.NewLimiter(),
	}
	s.learned = &learner{db, s.ask}
	if err := extend(ctx, db); err != nil {
		return nil, db.Opening().Failed(errors.Join(db.Failed(ctx, "open", err), db.Close()))
	}
	for to, query := range map[*int64]string{
		&s.last:          "SELECT coalesce(max(num), 0) FROM traces",
		&s.lastLifecycle: "SELECT coalesce(max(id), 0) FROM lifecycles",
	} {
		if *to, err = db.Number(ctx, query); err != nil {
			return nil, db.Opening().Failed(errors.Join(db.Failed(ctx, "open", err), db.Close()))
		}
	}
	return s, nil
}

// Opening returns the result of Open.
func (s *Store) Opening() database.Opening { return s.db.Opening() }

// Capabilities returns what the engine can do.
func (s *Store) Capabilities() store.Capabilities { return store.Capabilities{Backup: true} }

// Rollups implements store.Learner.
func (s *Store) Rollups(ctx context.Context, q store.RollupQuery) iter.Seq2[sample.Rollup, error] {
	return s.learned.Rollups(ctx, q)
}

// Samples implements store.Learner.
func (s *Store) Samples(ctx context.Context, q store.FindQuery) iter.Seq2[sample.Lifecycle, error] {
	return s.learned.Samples(ctx, q)
}

// Check returns an error if the database is lost.
func (s *Store) Check(ctx context.Context) error { return s.db.Check(ctx) }

// Sync makes all batches so far survive a power failure.
func (s *Store) Sync(context.Context) error { return s.db.Sync() }

// Close waits for running calls and releases the database.
func (s *Store) Close() error { return s.db.Close() }

// Backup writes a complete copy of the archive, of one moment, to a new file. See database.Backup.
func (s *Store) Backup(ctx context.Context, path string) error { return s.db.Backup(ctx, path) }
