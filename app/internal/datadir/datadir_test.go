// SPDX-License-Identifier: Apache-2.0

package datadir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/datadir"
)

func TestClusters(t *testing.T) {
	dataDir := t.TempDir()
	if _, err := datadir.Clusters(filepath.Join(dataDir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a data directory: %v", err)
	}
	for uid, file := range map[string]func(string) string{
		"b": datadir.Archive, "../a": datadir.Journal, "empty": nil, "socket": datadir.Socket,
	} {
		dir, err := datadir.Make(dataDir, uid)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
		if file == nil {
			continue
		}
		if err := os.WriteFile(file(dir), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dataDir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := datadir.Clusters(dataDir)
	if want := []string{"___a", "b"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestDefault(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/state")
	if got, err := datadir.Default(); err != nil || got != "/state/lifeline" {
		t.Errorf("got %q, %v", got, err)
	}
	t.Setenv("XDG_STATE_HOME", "relative")
	t.Setenv("HOME", "/home/me")
	if got, err := datadir.Default(); err != nil || got != "/home/me/.local/state/lifeline" {
		t.Errorf("got %q, %v", got, err)
	}
}
