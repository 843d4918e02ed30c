// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Difference is a disagreement between a journal and the archive beside it: a person has replaced one
// of the files.
type Difference string

// The differences.
const (
	// Agree: the files belong together.
	Agree Difference = ""
	// OtherArchive: the archive is empty, or that of another directory. The archived traces are missing.
	OtherArchive Difference = "other archive"
	// OlderArchive: the archive lacks entries that were archived, as a restored backup does.
	OlderArchive Difference = "older archive"
	// OlderJournal: the journal lacks looks with archived traces.
	OlderJournal Difference = "older journal"
)

// Identity returns a random number from the creation of the journal.
func (j *Journal) Identity() int64 { return j.identity.Load() }

// Join compares the journal with its archive, and continues with that one. The revisions of an older
// journal continue after those of the archive: of two versions of a trace, the one with the lower
// revision is valid.
func (j *Journal) Join(ctx context.Context, with store.Pair) (Difference, error) {
	j.writing.Lock()
	defer j.writing.Unlock()
	var archive, archived, commit int64
	if with.Journal == j.Identity() {
		commit = with.Commit
	}
	db := j.database()
	err := db.Write(ctx, func(ctx context.Context, tx *database.Tx) error {
		var name string
		var value int64
		to := map[string]*int64{metaArchive: &archive, metaArchived: &archived}
		if err := database.Scan(ctx, tx, "SELECT name, value FROM meta", nil, []any{&name, &value}, func() error {
			if number := to[name]; number != nil {
				*number = value
			}
			return nil
		}); err != nil {
			return err
		}
		if archive == with.Archive && archived <= commit {
			return nil
		}
		for name, value := range map[string]int64{metaArchive: with.Archive, metaArchived: commit} {
			if err := tx.Exec(ctx, "INSERT INTO meta (name, value) VALUES (?, ?)"+
				" ON CONFLICT DO UPDATE SET value = excluded.value", name, value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Agree, fmt.Errorf("cannot compare the journal with its archive: %w", db.Failed(ctx, "write to", err))
	}
	switch {
	case with.Archive == 0:
		return Agree, nil
	case archive != 0 && archive != with.Archive:
		return OtherArchive, nil
	case commit > j.revision:
		j.revision = commit
		return OlderJournal, nil
	case archived > commit:
		return OlderArchive, nil
	}
	return Agree, nil
}
