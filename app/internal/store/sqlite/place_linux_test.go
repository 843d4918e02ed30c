// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
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
	path := filepath.Join(dir, "lifeline.db")
	s := openAt(t, path)
	var stored int64
	var err error
	next := func() *store.Batch {
		tr := spantest.Many(100)
		tr.ID = span.DeriveTraceID(strconv.FormatInt(stored+1, 10))
		for _, s := range tr.Spans {
			s.TraceID = tr.ID
		}
		return &store.Batch{Revision: stored + 1, AsOf: spantest.Epoch, Finished: []*span.Trace{tr}}
	}
	for err = s.Write(t.Context(), next()); err == nil; err = s.Write(t.Context(), next()) {
		stored++
	}
	if !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
		t.Errorf("a full disk: %v", err)
	}
	for range 2 { // the second time after a start
		if got, err := s.Stats(t.Context()); err != nil || got.Traces != stored || got.Revision != stored {
			t.Errorf("stored %d, got %+v, %v", stored, got, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		s = openAt(t, path)
		if s.Opening().SetAside != "" {
			t.Errorf("a full disk damages: %+v", s.Opening())
		}
		if err := s.Write(t.Context(), next()); !errors.Is(err, store.ErrFull) {
			t.Errorf("still full: %v", err)
		}
	}
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT, "size=9m"); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), next()); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// TestFullDiskLate: a store still works for a while after its disk is full. SQLite overwrites its
// log after a checkpoint, and a batch of state of the same size needs no further space. A new
// process starts a new log and fails at once.
func TestFullDiskLate(t *testing.T) {
	dir := mount(t, "16m")
	path := filepath.Join(dir, "lifeline.db")
	s := openAt(t, path)
	revision := int64(0)
	write := func() error {
		revision++
		return s.Write(t.Context(), &store.Batch{
			Revision: revision,
			AsOf:     spantest.Epoch,
			State:    map[string][]byte{"spans": []byte(strings.Repeat("s", 64<<10))},
		})
	}
	size := func() int64 {
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
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
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
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

func TestFullDiskAtStart(t *testing.T) {
	for _, size := range []string{"4k", "24k", "64k"} { // the file, the log's index, the schema
		path := filepath.Join(mount(t, size), "lifeline.db")
		if _, err := sqlite.Open(
			t.Context(),
			path,
		); !errors.Is(err, store.ErrFull) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", size, err)
		}
	}
}

func TestReadOnlyPlace(t *testing.T) {
	dir := mount(t, "3m")
	path := filepath.Join(dir, "lifeline.db")
	write(t, path, 1)
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, filepath.Join(dir, "new.db")} {
		if _, err := sqlite.Open(
			t.Context(),
			file,
		); !errors.Is(err, store.ErrReadOnly) ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("a read-only place: %v", err)
		}
	}
}
