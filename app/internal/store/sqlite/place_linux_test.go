// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

// mount gives a file system of its own, of that size.
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
	path := filepath.Join(mount(t, "3m"), "lifeline.db")
	s := openAt(t, path)
	var stored int64
	var err error
	for err == nil {
		stored++
		tr := spantest.Many(100)
		tr.ID = span.DeriveTraceID(string(rune(stored)))
		for _, s := range tr.Spans {
			s.TraceID = tr.ID
		}
		err = s.Write(t.Context(), &store.Batch{Revision: stored, AsOf: spantest.Epoch, Finished: []*span.Trace{tr}})
	}
	stored--
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
	}
}

func TestFullDiskAtStart(t *testing.T) {
	dir := mount(t, "64k")
	if err := os.WriteFile(filepath.Join(dir, "other"), make([]byte, 60<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "lifeline.db")
	if _, err := sqlite.Open(t.Context(), path); !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), path) {
		t.Errorf("a full disk: %v", err)
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
		if _, err := sqlite.Open(t.Context(), file); !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), file) {
			t.Errorf("a read-only place: %v", err)
		}
	}
}
