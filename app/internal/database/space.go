// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"fmt"
)

// pagesAtOnce bounds the pages that one transaction frees.
const pagesAtOnce = 1000

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

// alone runs a statement of the writer outside a transaction.
func (d *DB) alone(ctx context.Context, query string) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.guard(ctx); err != nil {
		return err
	}
	defer d.note()
	_, err = d.writer.ExecContext(ctx, query)
	return err
}
