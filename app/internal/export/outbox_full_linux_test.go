// SPDX-License-Identifier: Apache-2.0

package export

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOutboxFullDisk: delivered entries are marked once there is space, and are not sent again.
func TestOutboxFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
	dir := filepath.Dir(w.path)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	serveHTTP(t, r, l)
	o := to("http://" + l.Addr().String())
	o.linger, o.Hold = 10*time.Millisecond, true
	box := w.open(o)
	tr := small("a", 300)
	w.put(tr)
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("got %v", err)
	}
	box.Hold(false)
	w.until("sent, and not marked", func(s OutboxStats) bool {
		return s.Exported == 300 && strings.Contains(w.said.text(), "no space left")
	})
	if n := w.unremoved(); n != 1 {
		t.Errorf("%d entries are to be marked", n)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	w.until("marked", func(OutboxStats) bool { return w.unremoved() == 0 })
	w.finish()
	r.want(t, tr)
	if _, most := r.sent(); most != 1 || w.left() != 0 {
		t.Errorf("a span came %d times", most)
	}
}
