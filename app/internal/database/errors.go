// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// codes are the SQLite result codes with an error of the contract. An extended code without an entry
// has that of its primary code.
var codes = map[int]error{
	sqlite3.SQLITE_IOERR_SHMSIZE:    store.ErrFull,    // no room for the log's index
	sqlite3.SQLITE_IOERR_SHORT_READ: store.ErrDamaged, // a file ends too early
	sqlite3.SQLITE_READONLY_DBMOVED: store.ErrDamaged, // the file was renamed or deleted

	sqlite3.SQLITE_FULL:     store.ErrFull,
	sqlite3.SQLITE_READONLY: store.ErrReadOnly,
	sqlite3.SQLITE_PERM:     store.ErrReadOnly,
	sqlite3.SQLITE_CORRUPT:  store.ErrDamaged,
	sqlite3.SQLITE_NOTADB:   store.ErrDamaged,
	sqlite3.SQLITE_BUSY:     store.ErrInUse,

	sqlite3.SQLITE_IOERR:     store.ErrSystem,
	sqlite3.SQLITE_NOMEM:     store.ErrSystem,
	sqlite3.SQLITE_CANTOPEN:  store.ErrSystem,
	sqlite3.SQLITE_INTERRUPT: store.ErrSystem,
}

// Failed returns an error about the failed action and the database. It wraps the matching error of
// package store. The end of ctx takes the place of err.
func (d *DB) Failed(ctx context.Context, doing string, err error) error {
	return d.schema.failed(ctx, doing, d.path, err)
}

func (s *Schema) failed(ctx context.Context, doing, path string, err error) error {
	if ended := context.Cause(ctx); ended != nil {
		err = ended
	}
	return fmt.Errorf("cannot %s %s %s: %w", doing, s.Name, path, classify(err))
}

func classify(err error) error {
	var result *sqlite.Error
	switch {
	case errors.Is(err, store.ErrDamaged):
	case errors.As(err, &result):
		for _, code := range []int{result.Code(), result.Code() & 0xff} {
			if known := codes[code]; known != nil {
				return fmt.Errorf("%w: %w", known, err)
			}
		}
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	}
	return err
}

// damaged reports whether err says that the file cannot be read as a database.
func damaged(err error) bool {
	return errors.Is(classify(err), store.ErrDamaged)
}
