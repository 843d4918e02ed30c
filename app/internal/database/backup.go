// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// partialSuffix is the suffix of a copy until it is complete.
const partialSuffix = ".partial"

// Backup writes a complete copy of the database, of one moment, to the new file at path. Only its
// owner may read it. Writes continue meanwhile, and the log beside the database grows with them.
// The copy has no free pages and no log. An existing file stays, and is an error. After an error
// there is no copy.
func (d *DB) Backup(ctx context.Context, path string) error {
	if err := d.backup(ctx, path); err != nil {
		return d.Failed(ctx, fmt.Sprintf("write to %q a copy of", path), err)
	}
	return nil
}

func (d *DB) backup(ctx context.Context, path string) error {
	path, err := filepath.Abs(path) // SQLite reads another one as a URI
	if err == nil {
		err = d.check(ctx)
	}
	if err != nil {
		return err
	}
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	if err := vacant(path); err != nil {
		return err
	}
	partial := path + partialSuffix
	f, err := os.OpenFile(partial, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("another copy to that file is running or was interrupted; in that case, remove %s", partial)
	}
	if err != nil {
		return err
	}
	err = d.copyTo(ctx, partial)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = vacant(path)
	}
	if err == nil {
		err = os.Rename(partial, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	return nil
}

func vacant(path string) error {
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return fs.ErrExist
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// copyTo copies the database to the empty file at path. A connection that only reads would refuse.
func (d *DB) copyTo(ctx context.Context, path string) error {
	pool, err := sql.Open("sqlite", source(d.path, "cache_size(-4000)"))
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, "VACUUM INTO ?", path)
	return errors.Join(err, pool.Close())
}
