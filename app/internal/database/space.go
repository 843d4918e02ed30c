// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// pagesAtOnce bounds the pages that one transaction frees.
	pagesAtOnce = 1000
	// purges bounds the attempts to empty the log. Each waits for readers as long as for a lock.
	purges = 12
)

// SelectBytes selects the size of all used pages.
const SelectBytes = `SELECT (pages.page_count - free.freelist_count) * size.page_size
	FROM pragma_page_count pages, pragma_freelist_count free, pragma_page_size size`

// Used returns the size of all used pages, in bytes.
func (d *DB) Used(ctx context.Context) (int64, error) { return d.Number(ctx, SelectBytes) }

// Number returns the number that a query selects.
func (d *DB) Number(ctx context.Context, query string) (int64, error) {
	var out int64
	err := d.Read(ctx, func(q Querier) error {
		return Scan(ctx, q, query, nil, []any{&out}, func() error { return nil })
	})
	return out, err
}

// GiveBack returns free pages to the file system.
func (d *DB) GiveBack(ctx context.Context) error {
	if err := d.check(ctx); err != nil {
		return err
	}
	left := int64(-1)
	for {
		free, err := d.Number(ctx, "PRAGMA freelist_count")
		if err != nil {
			return err
		}
		if free == 0 || free == left {
			break
		}
		left = free
		if err := d.alone(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", pagesAtOnce)); err != nil {
			return err
		}
	}
	return d.alone(ctx, "PRAGMA wal_checkpoint(PASSIVE)") // the file shrinks with it
}

// Rebuild writes all data to a new file and back, so that no unused space holds deleted data. It
// needs free space for two copies of the data, beside the database. Writes wait for it.
func (d *DB) Rebuild(ctx context.Context) error {
	err := d.check(ctx)
	for _, query := range []string{
		"PRAGMA temp_store = FILE", // a copy in memory could be too large
		"PRAGMA temp_store_directory = '" + strings.ReplaceAll(filepath.Dir(d.path), "'", "''") + "'",
		"VACUUM",
	} {
		if err == nil {
			err = d.alone(ctx, query)
		}
	}
	steady := context.WithoutCancel(ctx)
	for _, query := range []string{"PRAGMA temp_store_directory = ''", "PRAGMA temp_store = MEMORY"} {
		err = errors.Join(err, d.alone(steady, query))
	}
	return err
}

// Purge empties the log, so that it has no copies of deleted data, and returns free pages to the
// file system. It waits for readers.
func (d *DB) Purge(ctx context.Context) error {
	if err := d.GiveBack(ctx); err != nil {
		return err
	}
	leave, err := d.exclusive()
	if err != nil {
		return err
	}
	defer leave()
	for range purges {
		if err := d.guard(ctx); err != nil {
			return err
		}
		var busy, pages, copied int64
		err := d.writer.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &copied)
		d.note()
		if err != nil || busy == 0 {
			return err
		}
	}
	return fmt.Errorf("%w: a query holds its log; deleted data are in it until the next purge", store.ErrInUse)
}

// alone runs a statement of the writer outside a transaction.
func (d *DB) alone(ctx context.Context, query string) error {
	leave, err := d.exclusive()
	if err != nil {
		return err
	}
	defer leave()
	if err := d.guard(ctx); err != nil {
		return err
	}
	defer d.note()
	_, err = d.writer.ExecContext(ctx, query)
	return err
}
