// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// mount creates a file system of that size.
func mount(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestFullDisk(t *testing.T) {
	dir := mount(t, "3m")
	path := filepath.Join(dir, "items.db")
	d := openAt(t, path)
	var stored int64
	var err error
	next := func() error { return put(t.Context(), d, stored+1, make([]byte, 30_000)) }
	for err = next(); err == nil; err = next() {
		stored++
	}
	if !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
		t.Errorf("a full disk: %v", err)
	}
	for range 2 { // the second time after a start
		if got := count(t, d); got != stored {
			t.Errorf("stored %d, got %d", stored, got)
		}
		must(t, d.Close())
		d = openAt(t, path)
		if d.Opening().SetAside != "" {
			t.Errorf("a full disk damages: %+v", d.Opening())
		}
		if err := next(); !errors.Is(err, store.ErrFull) {
			t.Errorf("still full: %v", err)
		}
	}
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT, "size=9m"); err != nil {
		t.Fatal(err)
	}
	if err := next(); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// TestFullDiskLate: a database still works for a while after its disk is full. SQLite overwrites
// its log after a checkpoint, and an item of the same size needs no further space. A new process
// starts a new log and fails at once.
func TestFullDiskLate(t *testing.T) {
	dir := mount(t, "16m")
	path := filepath.Join(dir, "items.db")
	d := openAt(t, path)
	write := func() error { return put(t.Context(), d, 1, make([]byte, 64<<10)) }
	size := func() int64 { return size(t, path+"-wal") }
	for before := int64(-1); size() > before; { // until it is overwritten
		before = size()
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, dir)
	for range 10 {
		if err := write(); err != nil {
			t.Fatalf("a full disk, and room in the log: %v", err)
		}
	}
	must(t, d.Close())
	d = openAt(t, path)
	fill(t, dir)
	if err := write(); !errors.Is(err, store.ErrFull) {
		t.Errorf("a full disk, and a new log: %v", err)
	}
}

// fill appends to a file until no space is left.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "filler"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
}

// TestRebuildFull: a database that has no room for its copies stays as it is.
func TestRebuildFull(t *testing.T) {
	dir := mount(t, "16m")
	d := openAt(t, filepath.Join(dir, "items.db"))
	add(t, d, 4000)
	must(t, d.Purge(t.Context()))
	fill(t, dir)
	err := d.Failed(t.Context(), "rebuild", d.Rebuild(t.Context()))
	if !errors.Is(err, store.ErrFull) || count(t, d) != 4000 {
		t.Errorf("%v, %d items", err, count(t, d))
	}
	must(t, os.Remove(filepath.Join(dir, "filler")))
	must(t, d.Rebuild(t.Context()))
	add(t, d, 1)
	must(t, d.Check(t.Context()))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 4 || count(t, d) != 4001 {
		t.Errorf("%d items in %v, %v", count(t, d), left, err)
	}
}

func TestFullDiskAtStart(t *testing.T) {
	for _, size := range []string{"4k", "24k"} { // the file, the log's index
		path := filepath.Join(mount(t, size), "items.db")
		if _, err := database.Open(
			t.Context(),
			path,
			items,
		); !errors.Is(err, store.ErrFull) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", size, err)
		}
	}
}

func TestReadOnlyPlace(t *testing.T) {
	dir := mount(t, "3m")
	path := filepath.Join(dir, "items.db")
	written(t, path, 1)
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, filepath.Join(dir, "new.db")} {
		if _, err := database.Open(
			t.Context(),
			file,
			items,
		); !errors.Is(err, store.ErrReadOnly) ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("a read-only place: %v", err)
		}
	}
}
