// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

func TestReopen(t *testing.T) {
	for name, file := range map[string]string{"plain": "items.db", "odd": "a b?mode=ro&x#%41'\";.db"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), file)
			written(t, path, 3)
			d := openAt(t, path)
			if got := d.Opening(); got.SetAside != "" || got.Version != 1 || count(t, d) != 3 {
				t.Errorf("Opening is %+v, with %d items", got, count(t, d))
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("the file is %v, %v", info.Mode(), err)
			}
		})
	}
}

func TestSecondOpener(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.db")
	first := openAt(t, path)
	_, err := database.Open(t.Context(), path, items)
	if !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), path) ||
		!strings.Contains(err.Error(), "by process ") {
		t.Errorf("the second opener: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	openAt(t, path)
}

func TestDamaged(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		damage func(data []byte) []byte
	}{
		"no database": {
			reason: "after a crash of the file system",
			damage: func([]byte) []byte { return []byte(strings.Repeat("no database ", 1000)) },
		},
		"header": {
			reason: "the first page is missing",
			damage: func(d []byte) []byte { copy(d, make([]byte, 4096)); return d },
		},
		"pages": {
			reason: "only a full read finds it",
			damage: func(d []byte) []byte { copy(d[len(d)/2:], strings.Repeat("x", len(d)/4)); return d },
		},
		"cut off": {reason: "the end is missing", damage: func(d []byte) []byte { return d[:len(d)/2] }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			path := filepath.Join(t.TempDir(), "items.db")
			written(t, path, 2000)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data = tc.damage(data)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			d := openAt(t, path)
			got := d.Opening()
			if !strings.HasPrefix(got.SetAside, path+".damaged-") || !errors.Is(got.Why, store.ErrDamaged) ||
				got.Version != 0 {
				t.Errorf("Opening is %+v", got)
			}
			if kept, err := os.ReadFile(got.SetAside); err != nil || string(kept) != string(data) {
				t.Errorf("the file set aside has %d bytes of %d: %v", len(kept), len(data), err)
			}
			if n := count(t, d); n != 0 {
				t.Errorf("the new database has %d items", n)
			}
		})
	}
}

// TestDamagedWhileOpen: the call that finds the damage returns it, and the next start finds it
// again.
func TestDamagedWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.db")
	written(t, path, 40_000)
	d := openAt(t, path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("x", int(info.Size()/2))), info.Size()/2); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = d.Number(t.Context(), "SELECT sum(length(value)) FROM items")
	if err = d.Failed(t.Context(), "read", err); !errors.Is(err, store.ErrDamaged) ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("a read of damaged data: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if got := openAt(t, path).Opening(); got.SetAside == "" {
		t.Errorf("the second Opening is %+v", got)
	}
}

// TestNotOurs: a healthy file is never moved.
func TestNotOurs(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, sql string
		want        error
		text        string
	}{
		"foreign": {reason: "another program needs it", sql: "CREATE TABLE bookmarks (x)", want: store.ErrForeign,
			text: "another program"},
		"without a version": {
			reason: "no release writes it", sql: "CREATE TABLE t (x); PRAGMA application_id = 7",
			want: store.ErrForeign, text: "before 0.1.0",
		},
		"newer": {
			reason: "an older version would harm it",
			sql:    "CREATE TABLE t (x); PRAGMA application_id = 7; PRAGMA user_version = 99",
			want:   store.ErrNewer, text: "version 99",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			path := filepath.Join(t.TempDir(), "x.db")
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(tc.sql); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the lock is free again
				_, err = database.Open(t.Context(), path, items)
				if err == nil || !errors.Is(err, tc.want) ||
					!strings.Contains(err.Error(), tc.text) ||
					!strings.Contains(err.Error(), path) {
					t.Errorf("got %v", err)
				}
			}
			if found, _ := filepath.Glob(path + ".damaged*"); len(found) > 0 {
				t.Errorf("was moved to %v", found)
			}
		})
	}
}

func TestCannotOpen(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"no directory": filepath.Join(dir, "none", "x.db"),
		"below a file": filepath.Join(dir, "file", "x.db"),
		"a directory":  dir,
	} {
		if _, err := database.Open(t.Context(), path, items); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := filepath.Join(dir, "items.db")
	written(t, path, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := database.Open(ctx, path, items); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if got := openAt(t, path).Opening(); got.SetAside != "" {
		t.Errorf("a cancelled start made it %+v", got)
	}
}
