// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver named "sqlite"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// settings are those of every connection. The wait for a lock serves a user of the program sqlite3.
var settings = []string{"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)", "temp_store(MEMORY)"}

// source is the driver's name for the database at path, with the settings.
func source(path string, further ...string) string {
	return address(path, "rw", append(further, settings...)...) // connect makes the file
}

// address is the driver's name for the database at path.
func address(path, mode string, pragmas ...string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	if !strings.HasPrefix(u.Path, "/") {
		u.Path = "/" + u.Path // a drive
	}
	q := url.Values{"_pragma": pragmas}
	q.Set("_dqs", "0")
	q.Set("mode", mode)
	u.RawQuery = q.Encode()
	return u.String()
}

// connect opens, checks and migrates the database. After an error, nothing stays open.
func (d *DB) connect(ctx context.Context) (err error) {
	for _, path := range []string{d.path, d.path + "-wal"} {
		if err := create(path); err != nil {
			return err
		}
	}
	further := []string{"journal_size_limit(67108864)", "cache_size(-16000)", "secure_delete(FAST)"}
	if empty(d.path) {
		further = append(further, "auto_vacuum(INCREMENTAL)") // counts, and is a write, before the first one
	}
	if d.pool, err = sql.Open("sqlite", source(d.path, further...)); err != nil {
		return err
	}
	d.pool.SetMaxOpenConns(1)
	defer func() {
		if err != nil {
			err = errors.Join(err, d.disconnect())
			d.writer = nil
		}
	}()
	if d.writer, err = d.pool.Conn(ctx); err != nil {
		return err
	}
	if err := verify(ctx, d.writer); err != nil {
		return err
	}
	if d.opening.Version, err = d.schema.migrate(ctx, d.writer); err != nil {
		return err
	}
	d.stmts = map[string]*sql.Stmt{}
	if d.files, err = openFiles(d.path); err != nil {
		return err
	}
	if d.readers, err = sql.Open("sqlite", source(d.path, "query_only(1)", "cache_size(-4000)")); err != nil {
		return err
	}
	d.readers.SetMaxOpenConns(readers)
	d.readers.SetMaxIdleConns(readers)
	return nil
}

// create makes the file, if it is missing. Only its owner may read it, since it holds names and
// messages of the cluster. Its error is clearer than SQLite's.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func empty(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() == 0
}

// verify reads the whole file.
func verify(ctx context.Context, conn *sql.Conn) error {
	var problem string
	if err := conn.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&problem); err != nil {
		return err
	}
	if problem != "ok" {
		return fmt.Errorf("%w: %s", store.ErrDamaged, problem)
	}
	return nil
}
