// SPDX-License-Identifier: Apache-2.0

package process

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestCallerCrashes(t *testing.T) {
	dir := t.TempDir()
	caller, child := startCaller(t, dir, "caller")
	fd, err := unix.PidfdOpen(child, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := caller.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = caller.Wait() // it was killed
	if !waitGone(t.Context(), fd, time.Minute) {
		t.Errorf("child %d survived the crash of its caller", child)
	}
}

func TestEndDetached(t *testing.T) {
	dir := t.TempDir()
	caller, child := startCaller(t, dir, "detached-caller")
	if err := caller.Wait(); err != nil {
		t.Fatal(err)
	}
	entries, err := Recorded(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Pid != child || !entries[0].Alive() {
		t.Fatalf("Recorded(): %+v, want pid %d, alive after its caller", entries, child)
	}
	for range 2 { // ending twice is harmless
		if err := End(t.Context(), dir, time.Minute); err != nil {
			t.Fatal(err)
		}
		if entries[0].Alive() {
			t.Errorf("child %d survived End", child)
		}
	}
}

func TestEndSparesStrangers(t *testing.T) {
	g, dir := newGroup(t)
	p := start(t, g, play(dir, "stranger", "wait"))
	cases := map[string]struct {
		reason string
		change func(*Entry)
	}{
		"OtherStart": {reason: "The pid was given to a later process.", change: func(e *Entry) { e.Start = "1" }},
		"OtherBoot":  {reason: "The record is from before a reboot.", change: func(e *Entry) { e.Boot = "other" }},
		"AlreadyEnded": {
			reason: "The process had ended when it was recorded.",
			change: func(e *Entry) { e.Start = "" },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			entry := entryOf(p)
			tc.change(&entry)
			data, err := json.Marshal([]Entry{entry})
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, recordFile), data, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := End(t.Context(), dir, time.Second); err != nil {
				t.Fatal(err)
			}
			if !entryOf(p).Alive() {
				t.Errorf("%s\nEnd() ended it", tc.reason)
			}
		})
	}
}

func TestMountsBelow(t *testing.T) {
	const info = `22 1 0:21 / /proc rw - proc proc rw
30 1 0:30 / /lab/a rw - tmpfs tmpfs rw
31 30 0:31 / /lab/a/with\040space rw - tmpfs tmpfs rw
32 1 0:32 / /lab/ab rw - tmpfs tmpfs rw
`
	want := []string{"/lab/a/with space", "/lab/a"}
	if diff := cmp.Diff(want, mountsBelow(info, "/lab/a")); diff != "" {
		t.Errorf("the latest first, and no neighbour: -want +got:\n%s", diff)
	}
}

func TestUnmountBelow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with space")
	if err := os.MkdirAll(filepath.Join(dir, "m"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("lab-test", filepath.Join(dir, "m"), "tmpfs", 0, ""); err != nil {
		t.Skipf("mounting needs root: %v", err)
	}
	for range 2 { // doing it twice is harmless
		if err := UnmountBelow(dir); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if left := mountsBelow(string(data), dir); len(left) > 0 {
		t.Errorf("UnmountBelow() left %v", left)
	}
}
