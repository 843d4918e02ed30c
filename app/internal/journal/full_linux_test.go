// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
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

// TestFullDisk: neither a commit nor a removal on a full disk harms the journal. The same commit
// succeeds later.
func TestFullDisk(t *testing.T) {
	dir := mount(t, "3m")
	j := openAt(t, filepath.Join(dir, "journal.db"))
	e := entry(1, both)
	commit(
		t,
		j,
		&journal.Changes{State: map[string][]byte{"chunk": make([]byte, 100_000)}, Entries: []*journal.Entry{e}},
	)
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("got %v", err)
	}
	failed := entry(2, both)
	c := &journal.Changes{
		State: map[string][]byte{"chunk": nil, "next": make([]byte, 100_000)}, Entries: []*journal.Entry{failed},
	}
	for name, call := range map[string]func() error{
		"commit": func() error { return j.Commit(t.Context(), c) },
		"done":   func() error { return j.Done(t.Context(), journal.Archive, 1) },
	} {
		for range 2 {
			if err := call(); !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), j.Path()) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for range 2 { // the second time after a start
		if d := cmp.Diff([]uint64{1}, pending(t, j, journal.Archive)); d != "" || !j.Sound(t.Context(), 0) {
			t.Errorf("pending (-want +got):\n%s", d)
		}
		if state, err := j.State(t.Context(), "chunk"); err != nil || len(state) != 100_000 {
			t.Errorf("the state has %d bytes, %v", len(state), err)
		}
		must(t, j.Close())
		j = openAt(t, j.Path())
		if j.Opening().SetAside != "" {
			t.Errorf("a full disk damages: %+v", j.Opening())
		}
	}
	must(t, os.Remove(filler))
	commit(t, j, c)
	must(t, j.Done(t.Context(), journal.Archive, 1))
	if d := cmp.Diff([]uint64{2}, pending(t, j, journal.Archive)); d != "" || failed.Seq != 2 {
		t.Errorf("pending (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]uint64{1, 2}, pending(t, j, journal.Sender)); d != "" {
		t.Errorf("pending (-want +got):\n%s", d)
	}
}
