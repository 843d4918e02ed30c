// SPDX-License-Identifier: Apache-2.0

package run

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTempDir(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
	add := func(name, lock string) string {
		t.Helper()
		path := filepath.Join(temp, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if lock == "" {
			return path
		}
		if err := os.WriteFile(filepath.Join(path, lock), []byte("locked\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	used, err := newTempDir()
	if err != nil {
		t.Fatal(err)
	}
	stale := add(tempPrefix+"stale", tempLock)
	unlocked := add(tempPrefix+"unlocked", "config")
	other := add("other", tempLock)
	if err := os.Symlink(other, filepath.Join(temp, tempPrefix+"link")); err != nil {
		t.Fatal(err)
	}
	next, err := newTempDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{used.path, unlocked, other, next.path} {
		if !exists(path) {
			t.Errorf("%s was removed", path)
		}
	}
	if exists(stale) {
		t.Errorf("%s was not removed", stale)
	}
	used.remove()
	next.remove()
	if exists(used.path) || exists(next.path) {
		t.Error("remove left a directory")
	}
}
