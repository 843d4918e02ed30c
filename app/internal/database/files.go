// SPDX-License-Identifier: Apache-2.0

package database

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// The events of a file, as text for store.LostError.
const (
	deleted     = "was deleted"
	replaced    = "was replaced by another file"
	overwritten = "was overwritten"
)

const (
	// headSize is the part of a file that is compared: the database's header,
	// or the log's and its first frame's.
	headSize = 100
	// checkShare bounds the time for reading the whole file to this share.
	checkShare = 20
)

// kinds are the files that are checked, with their first bytes.
var kinds = []struct {
	suffix string
	magic  []byte
}{
	{"", []byte("SQLite format 3\x00")},
	{"-wal", []byte{0x37, 0x7f, 0x06}},
}

// file is the database or its log, as this process left it. Only its own writes
// change it.
//
// The handle stays open until the database is closed: POSIX drops all locks of a
// process on a file when the process closes any handle of it.
type file struct {
	*os.File
	magic []byte
	info  os.FileInfo
	head  []byte
}

// openFiles opens the files of a database that SQLite has opened. There is no log
// where the file system cannot have one.
func openFiles(path string) ([]*file, error) {
	var out []*file
	for _, k := range kinds {
		f := &file{magic: k.magic}
		var err error
		if f.File, err = os.Open(path + k.suffix); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, closeFiles(out))
		}
		out = append(out, f)
		if f.info, err = f.Stat(); err == nil {
			f.head, err = f.begin()
		}
		if err != nil {
			return nil, errors.Join(err, closeFiles(out))
		}
	}
	return out, nil
}

func closeFiles(files []*file) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// begin reads the beginning of the file.
func (f *file) begin() ([]byte, error) {
	head := make([]byte, headSize)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head[:n], nil
}

// note records the state of the file after a write of this process. A file that
// has lost its magic bytes keeps the old record, and so fails the next check.
func (f *file) note() {
	info, err := f.Stat()
	if err != nil || same(info, f.info) {
		return
	}
	if head, err := f.begin(); err == nil && (len(head) == 0 || bytes.HasPrefix(head, f.magic)) {
		f.info, f.head = info, head
	}
}

// same reports whether a file has not been written between the two.
func same(a, b os.FileInfo) bool { return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) }

// moved returns the event of the file's name; empty if it still names the file.
func (f *file) moved() (string, error) {
	info, err := os.Stat(f.Name())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return deleted, nil
	case err != nil:
		return "", err
	case !os.SameFile(info, f.info):
		return replaced, nil
	}
	return "", nil
}

// changed reports whether another process has written to the file, and whether the
// beginning or the end is lost.
func (f *file) changed() (changed, lost bool, err error) {
	info, err := f.Stat()
	if err != nil || same(info, f.info) {
		return false, false, err
	}
	head, err := f.begin()
	return true, err == nil && (info.Size() < f.info.Size() || !bytes.Equal(head, f.head)), err
}

// Check returns an error if the database is lost, so that new writes would not survive. It is a
// store.LostError if another program has deleted, replaced or overwritten its files. It is cheap,
// unless another program has written to them. Write checks as well.
func (d *DB) Check(ctx context.Context) error {
	if err := d.check(ctx); err != nil {
		return d.Failed(ctx, "use", err)
	}
	return nil
}

func (d *DB) check(ctx context.Context) error {
	leave, err := d.exclusive()
	if err != nil {
		return err
	}
	defer leave()
	return d.guard(ctx)
}

// guard checks that the files are still those of the store and that no other
// process has written to them. If one is not, it sets aside the files at the path,
// and the store is lost. The caller holds mu.
func (d *DB) guard(ctx context.Context) error {
	if d.lost != nil {
		return d.lost
	}
	if err := d.moved(); err != nil {
		return err
	}
	suspect := ""
	for _, f := range d.files {
		changed, lost, err := f.changed()
		switch {
		case err != nil:
			return err
		case lost:
			return d.lose(f.Name(), overwritten)
		case changed:
			suspect = f.Name()
		}
	}
	if suspect != "" {
		if err := d.inspect(ctx, suspect); err != nil {
			return err
		}
	}
	return d.relock()
}

// moved is guard for the names of the files.
func (d *DB) moved() error {
	for _, f := range d.files {
		what, err := f.moved()
		if err != nil {
			return err
		}
		if what != "" {
			return d.lose(f.Name(), what)
		}
	}
	return nil
}

// inspect reads the whole database after another process has changed the named
// file. The change may be harmless: a new time of modification, or a transaction of
// the program sqlite3.
func (d *DB) inspect(ctx context.Context, name string) (err error) {
	if time.Since(d.inspected) < checkShare*d.took {
		return nil
	}
	began := time.Now()
	// A new connection has nothing in its cache.
	pool, err := sql.Open("sqlite", source(d.path, "query_only(1)"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	pool.SetMaxOpenConns(1)
	conn, err := pool.Conn(ctx)
	if err == nil {
		err = errors.Join(verify(ctx, conn), conn.Close())
	}
	d.inspected, d.took = time.Now(), time.Since(began)
	if damaged(err) {
		return d.lose(name, overwritten)
	}
	if err == nil {
		d.note()
	}
	return err
}

// lose sets aside the files at the path.
func (d *DB) lose(name, what string) error {
	lost := &store.LostError{File: name, What: what}
	o, err := setAside(d.path, time.Now(), lost)
	if err != nil {
		return err
	}
	lost.SetAside = o.SetAside
	d.lost = lost
	return lost
}

// note records the state of the files after a write of this process.
func (d *DB) note() {
	for _, f := range d.files {
		f.note()
	}
}

// relock takes the lock again if its file was deleted or replaced. It fails if
// another process holds the new lock.
func (d *DB) relock() error {
	own, err := d.lock.Stat()
	if err != nil {
		return err
	}
	if info, err := os.Stat(d.path + lockSuffix); err == nil && os.SameFile(info, own) {
		return nil
	}
	held, err := lock(d.path)
	if err != nil {
		return fmt.Errorf("the lock of the store was deleted: %w", err)
	}
	err = d.lock.Close()
	d.lock = held
	return err
}

// Sync makes all transactions so far survive a power failure. Without it, the last ones may be lost:
// SQLite itself syncs the log only when it is emptied. On Windows it does nothing: a handle for
// reading cannot sync there, and no other handle may be closed while the database is open.
func (d *DB) Sync() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	leave, err := d.exclusive()
	if err != nil {
		return err
	}
	defer leave()
	for _, f := range d.files {
		if !strings.HasSuffix(f.Name(), "-wal") {
			continue
		}
		if err := f.Sync(); err != nil {
			return d.Failed(context.Background(), "sync", err)
		}
	}
	return nil
}
