// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// fill appends to a file until no space is left.
func fill(t *testing.T, dir string) (empty func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	must(t, err)
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	return func() { must(t, os.Remove(f.Name())) }
}

// TestFullDiskOfBoth fills the disk of journal and archive. Looks wait with one sentence in the log,
// finished traces stay readable, and all arrive when there is room again.
func TestFullDiskOfBoth(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	p := startStored(t, dir)
	p.look()
	first := p.finish()
	p.archivedAll(first)
	empty := fill(t, dir)
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	var err error
	for tries := 0; err == nil && tries < 500; tries++ { // the database's log may have room for a while
		p.r.save = true
		for _, o := range seen {
			if tries == 0 {
				p.r.observe(o)
			}
		}
		err = p.r.look(t.Context(), p.clock.Now())
	}
	if !errors.Is(err, store.ErrFull) || !p.r.blocked() {
		t.Fatalf("got %v, blocked %t, want a full disk", err, p.r.blocked())
	}
	for range 3 {
		p.server.progress.looked(err)
		p.server.progress.troubled(err)
	}
	p.lines(
		`level=ERROR msg="cannot store the observations" error=.*no space left.* do="make room on the disk, or lower ` +
			`retention.size; the observations wait, nothing is lost"`,
	)
	if _, err := p.view.Trace(t.Context(), store.Scope{}, first); err != nil {
		t.Errorf("an earlier trace: %v", err)
	}
	empty()
	p.look()
	p.archivedAll(first, p.finish())
}

// TestReadOnlyArchive: the archive's file alone cannot be written.
func TestReadOnlyArchive(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a file")
	}
	data, old := filled(t)
	path := archiveFile(filepath.Join(data, "c"))
	if err := unix.Mount(path, path, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("cannot mount a file: %v", err)
	}
	mounted := true
	unmount := func() {
		if mounted {
			must(t, unix.Unmount(path, unix.MNT_DETACH))
			mounted = false
		}
	}
	defer unmount()
	must(t, unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	p := startStored(t, data)
	p.look()
	id := p.finish()
	p.log.await(t, `(cannot write to the archive)`)
	p.waitsFor(id)
	unmount()
	p.archivedAll(old, id)
	p.log.await(t, `(the archive is writable again)`)
	p.lines(
		`ERROR msg="cannot write to the archive; finished traces wait .*read-only.* do="make dataDir writable"`,
		`the archive is writable again`,
	)
}
