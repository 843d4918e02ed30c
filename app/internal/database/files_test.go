// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// filled returns a database with data in both its file and its log: 501 items.
func filled(t *testing.T) (d *database.DB, path string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	must(t, os.Mkdir(dir, 0o700))
	path = filepath.Join(dir, "items.db")
	d = openAt(t, path)
	add(t, d, 500)
	must(t, d.GiveBack(t.Context())) // copies the log to the database
	add(t, d, 1)
	must(t, d.Check(t.Context()))
	return d, path
}

func size(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Size()
}

// overwrite writes garbage over a part of a file; from and length are shares of it.
func overwrite(t *testing.T, path string, from, length float64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	size := float64(info.Size())
	_, err = f.WriteAt(bytes.Repeat([]byte("garbage!"), int(size*length/8)), int64(size*from))
	must(t, err)
}

// lostCases are faults in the files of an open store.
var lostCases = map[string]struct {
	reason string
	lose   func(t *testing.T, path string)
	file   string // beside the path
	what   string
	aside  string // what is set aside: a suffix; none if nothing is
}{
	"deleted": {
		"the log is left, and would be read into a new database",
		func(t *testing.T, path string) { must(t, os.Remove(path)) }, "", "was deleted", "-wal",
	},
	"all deleted": {
		"an administrator removes the database",
		func(t *testing.T, path string) {
			for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
				must(t, os.Remove(path+suffix))
			}
		}, "", "was deleted", "none",
	},
	"directory renamed": {
		"the files have another path",
		func(t *testing.T, path string) { must(t, os.Rename(filepath.Dir(path), filepath.Dir(path)+".old")) },
		"",
		"was deleted",
		"none",
	},
	"replaced": {
		"a backup was moved there",
		func(t *testing.T, path string) {
			must(t, os.WriteFile(path+".new", []byte("other"), 0o600))
			must(t, os.Rename(path+".new", path))
		}, "", "was replaced", "",
	},
	"overwritten": {
		"the whole file", func(t *testing.T, path string) { overwrite(t, path, 0, 1) }, "", "was overwritten", "",
	},
	"overwritten in the middle": {
		"header and size stay",
		func(t *testing.T, path string) { overwrite(t, path, 0.25, 0.5) },
		"",
		"was overwritten",
		"",
	},
	"truncated": {
		"the header stays",
		func(t *testing.T, path string) { must(t, os.Truncate(path, 4096)) }, "", "was overwritten", "",
	},
	"log deleted": {
		"its batches survive a regular end only",
		func(t *testing.T, path string) { must(t, os.Remove(path+"-wal")) }, "-wal", "was deleted", "",
	},
	"log overwritten": {
		"a new process could not read it",
		func(t *testing.T, path string) { overwrite(t, path+"-wal", 0, 1) }, "-wal", "was overwritten", "",
	},
	"log truncated": {
		"its batches are gone",
		func(t *testing.T, path string) { must(t, os.Truncate(path+"-wal", 0)) }, "-wal", "was overwritten", "",
	},
}

// TestLostWhileOpen: the next call returns a LostError. The next Open creates a new store beside
// the files that were set aside.
func TestLostWhileOpen(t *testing.T) {
	for name, tc := range lostCases {
		for by, call := range map[string]func(d *database.DB) error{
			"check": func(d *database.DB) error { return d.Check(t.Context()) },
			"write": func(d *database.DB) error { return put(t.Context(), d, 3, []byte("v")) },
			"space": func(d *database.DB) error { return d.GiveBack(t.Context()) },
		} {
			t.Run(name+"/"+by, func(t *testing.T) {
				t.Log(tc.reason)
				d, path := filled(t)
				tc.lose(t, path)
				var lost *store.LostError
				if err := call(d); !errors.As(err, &lost) || !errors.Is(err, store.ErrDamaged) {
					t.Fatalf("got %v", err)
				}
				if lost.File != path+tc.file || !strings.HasPrefix(lost.What, tc.what) {
					t.Errorf("got %+v", lost)
				}
				if tc.aside == "none" {
					if lost.SetAside != "" {
						t.Errorf("%s was set aside", lost.SetAside)
					}
				} else if !strings.HasPrefix(lost.SetAside,
					path+".damaged-") || !strings.HasSuffix(lost.SetAside, "Z"+tc.aside) {
					t.Errorf("%q was set aside", lost.SetAside)
				} else if _, err := os.Stat(lost.SetAside); err != nil {
					t.Error(err)
				}
				if err := put(t.Context(), d, 4, []byte("v")); !errors.Is(err, store.ErrDamaged) {
					t.Errorf("a write to the lost database: %v", err)
				}
				must(t, d.Close())
				must(t, os.MkdirAll(filepath.Dir(path), 0o700))
				again := openAt(t, path)
				if got := count(t, again); got != 0 || again.Opening().SetAside != "" {
					t.Errorf("opened again: %d items, %+v", got, again.Opening())
				}
			})
		}
	}
}

// TestLostAtTheEnd: Close fails if the files have disappeared since the last call.
func TestLostAtTheEnd(t *testing.T) {
	d, path := filled(t)
	must(t, os.RemoveAll(filepath.Dir(path)))
	if err := d.Close(); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	must(t, d.Close())
}

// TestHarmless: a change without loss of data is no error.
func TestHarmless(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		do     func(t *testing.T, path string)
		want   int64
	}{
		"touched": {"only the time is another", func(t *testing.T, path string) {
			for _, suffix := range []string{"", "-wal"} {
				must(t, os.Chtimes(path+suffix, time.Time{}, time.Now().Add(time.Hour)))
			}
		}, 502},
		"mode changed": {
			"an administrator lets a group read it",
			func(t *testing.T, path string) { must(t, os.Chmod(path, 0o640)) },
			502,
		},
		"written by another program": {"by the rules of SQLite", func(t *testing.T, path string) {
			db, err := sql.Open("sqlite", path)
			must(t, err)
			_, err = db.ExecContext(t.Context(), "INSERT INTO items (num, value) VALUES (9000, x'64')")
			must(t, errors.Join(err, db.Close()))
		}, 503},
		"index deleted": {
			"SQLite rebuilds it from the log",
			func(t *testing.T, path string) { must(t, os.Remove(path+"-shm")) },
			502,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			d, path := filled(t)
			tc.do(t, path)
			must(t, d.Check(t.Context()))
			must(t, put(t.Context(), d, 1000, []byte("v")))
			must(t, d.Close())
			again := openAt(t, path)
			if got := count(t, again); got != tc.want {
				t.Errorf("%d items, want %d", got, tc.want)
			}
		})
	}
}

// TestLockLost: the lock is taken again, unless another process holds it.
func TestLockLost(t *testing.T) {
	d, path := filled(t)
	must(t, os.Remove(path+".lock"))
	must(t, d.Check(t.Context()))
	if _, err := database.Open(t.Context(), path, items); !errors.Is(err, store.ErrInUse) {
		t.Errorf("a second opener: %v", err)
	}
	must(t, os.Remove(path+".lock"))
	other := openAt(t, path)
	if err := put(
		t.Context(),
		d,
		1000,
		[]byte("v"),
	); !errors.Is(err, store.ErrInUse) ||
		errors.Is(err, store.ErrDamaged) {
		t.Errorf("beside another: %v", err)
	}
	must(t, other.Close())
	must(t, put(t.Context(), d, 1000, []byte("v")))
}

// BenchmarkCheck measures the check before each transaction.
func BenchmarkCheck(b *testing.B) {
	d := openAt(b, filepath.Join(b.TempDir(), "items.db"))
	for b.Loop() {
		must(b, d.Check(b.Context()))
	}
}
