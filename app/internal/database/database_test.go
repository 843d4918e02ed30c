// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// items is a schema with one table.
var items = database.Schema{
	Name:          "items",
	ApplicationID: 7,
	Migrations:    []string{"CREATE TABLE items (num INTEGER PRIMARY KEY, value BLOB NOT NULL) STRICT"},
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openAt opens a database and closes it at the end of the test.
func openAt(t testing.TB, path string) *database.DB {
	t.Helper()
	d, err := database.Open(t.Context(), path, items)
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

// put stores one item.
func put(ctx context.Context, d *database.DB, num int64, value []byte) error {
	err := d.Write(ctx, func(ctx context.Context, tx *database.Tx) error {
		return tx.Exec(ctx, "INSERT OR REPLACE INTO items (num, value) VALUES (?, ?)", num, value)
	})
	if err != nil {
		return d.Failed(ctx, "write to", err)
	}
	return nil
}

// add stores n further items of 500 bytes.
func add(t testing.TB, d *database.DB, n int) {
	t.Helper()
	must(t, d.Write(t.Context(), func(ctx context.Context, tx *database.Tx) error {
		for range n {
			if err := tx.Exec(ctx, "INSERT INTO items (value) VALUES (?)", bytes.Repeat([]byte("v"), 500)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// count returns the number of items.
func count(t testing.TB, d *database.DB) int64 {
	t.Helper()
	n, err := d.Number(t.Context(), "SELECT count(*) FROM items")
	must(t, err)
	return n
}

// TestFailedStatement: after a failed statement a transaction stores nothing, also if the error is ignored. The
// failed one has many rows and no journal of its own (OR FAIL): SQLite rolls back the transaction at a full disk.
func TestFailedStatement(t *testing.T) {
	d := openAt(t, filepath.Join(t.TempDir(), "items.db"))
	add(t, d, 1)
	pages, err := d.Number(t.Context(), "PRAGMA page_count")
	must(t, err)
	must(t, d.Write(t.Context(), func(ctx context.Context, tx *database.Tx) error {
		return tx.Exec(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages+3))
	}))
	err = d.Write(t.Context(), func(ctx context.Context, tx *database.Tx) error {
		large := make([]byte, 30_000)
		if err := tx.Exec(ctx, "INSERT OR FAIL INTO items (num, value) VALUES (?, ?), (?, ?), (?, ?)",
			11, []byte{1}, 12, large, 13, large); err == nil {
			t.Error("the large rows have room")
		}
		if err := tx.Exec(ctx, "INSERT INTO items (num, value) VALUES (?, ?)", 14, []byte{1}); err == nil {
			t.Error("a statement ran after a failed one")
		}
		var num int64
		if err := database.Scan(ctx, tx, "SELECT num FROM items", nil, []any{&num},
			func() error { return nil }); err == nil {
			t.Error("a query ran after a failed statement")
		}
		return nil
	})
	if err = d.Failed(t.Context(), "write to", err); !errors.Is(err, store.ErrFull) {
		t.Errorf("the transaction ended with %v", err)
	}
	if n := count(t, d); n != 1 {
		t.Errorf("%d items are stored, want 1", n)
	}
	must(t, put(t.Context(), d, 15, []byte{1}))
}

// written creates a database with n items and closes it.
func written(t testing.TB, path string, n int) {
	t.Helper()
	d, err := database.Open(t.Context(), path, items)
	must(t, err)
	add(t, d, n)
	must(t, d.Close())
}

// TestWrite: a transaction is kept as a whole, or not at all.
func TestWrite(t *testing.T) {
	d := openAt(t, filepath.Join(t.TempDir(), "items.db"))
	why := errors.New("why")
	ctx, cancel := context.WithCancel(t.Context())
	for name, tc := range map[string]struct {
		ctx  context.Context
		do   func() error
		want error
	}{
		"failed":    {t.Context(), func() error { return why }, why},
		"cancelled": {ctx, func() error { cancel(); return nil }, context.Canceled},
	} {
		err := d.Write(tc.ctx, func(ctx context.Context, tx *database.Tx) error {
			must(t, tx.Exec(ctx, "INSERT INTO items (value) VALUES (x'00')"))
			return tc.do()
		})
		if !errors.Is(err, tc.want) || count(t, d) != 0 {
			t.Errorf("%s: %v, %d items", name, err, count(t, d))
		}
	}
	add(t, d, 3)
	if count(t, d) != 3 {
		t.Errorf("%d items", count(t, d))
	}
	must(t, d.Close())
	if err := put(t.Context(), d, 1, nil); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// TestMigrate migrates a database to later versions: one step fails at first and succeeds later.
func TestMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.db")
	written(t, path, 3)
	good, bad := "CREATE TABLE further (x)", "CREATE TABLE other (x); INSERT INTO nowhere VALUES (1)"
	later := items
	later.Migrations = slices.Concat(items.Migrations, []string{good, bad})
	if _, err := database.Open(t.Context(), path, later); err == nil ||
		!strings.Contains(err.Error(), "from version 2 to 3") {
		t.Errorf("a step that fails: %v", err)
	}
	later.Migrations[2] = "CREATE TABLE other (x)"
	for _, version := range []int{2, 3} { // the good step was kept, the bad one undone
		d, err := database.Open(t.Context(), path, later)
		must(t, err)
		if d.Opening().Version != version || count(t, d) != 3 {
			t.Errorf("found version %d, want %d, with %d items", d.Opening().Version, version, count(t, d))
		}
		must(t, d.Close())
	}
}

// TestAddition: programs of the oldest version use a file of a newer one whose migrations only add, and keep what
// they do not know.
func TestAddition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.db")
	written(t, path, 3)
	next := items
	next.Oldest = 1
	next.Migrations = slices.Concat(items.Migrations, []string{
		"ALTER TABLE items ADD COLUMN note TEXT NOT NULL DEFAULT ''; CREATE TABLE other (x)",
	})
	notes := func() (n int64) {
		d, err := database.Open(t.Context(), path, next)
		must(t, err)
		must(t, d.Write(t.Context(), func(ctx context.Context, tx *database.Tx) error {
			return errors.Join(
				tx.Exec(ctx, "INSERT INTO items (value, note) VALUES (x'00', 'new')"),
				tx.Exec(ctx, "INSERT INTO other VALUES (1)"),
			)
		}))
		n, err = d.Number(t.Context(), "SELECT count(*) FROM items JOIN other WHERE note > ''")
		must(t, err)
		must(t, d.Close())
		return n
	}
	for round, want := range []int64{1, 4, 9} {
		if got := notes(); got != want {
			t.Errorf("round %d: %d notes and others, want %d", round, got, want)
		}
		d, err := database.Open(t.Context(), path, items)
		must(t, err)
		add(t, d, 1)
		if got, want := count(t, d), int64(3+2*(round+1)); got != want || d.Opening().Version != 2 {
			t.Errorf("round %d: %d items in version %d, want %d", round, got, d.Opening().Version, want)
		}
		must(t, d.Close())
		r, err := database.OpenUnlocked(t.Context(), path, items)
		must(t, err)
		must(t, r.Close())
	}
	// A later version that breaks with the first one.
	last := next
	last.Migrations, last.Oldest = append(slices.Clone(next.Migrations), "DROP TABLE other"), 2
	d, err := database.Open(t.Context(), path, last)
	must(t, err)
	must(t, d.Close())
	if _, err := database.Open(t.Context(), path, items); !errors.Is(err, store.ErrNewer) ||
		!strings.Contains(err.Error(), "its schema is version 3, this program supports 1") {
		t.Errorf("a version that takes something away: %v", err)
	}
	d, err = database.Open(t.Context(), path, next)
	must(t, err)
	must(t, d.Close())
}

// TestGiveBack looks at the file itself.
func TestGiveBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.db")
	d := openAt(t, path)
	add(t, d, 5000)
	must(t, d.GiveBack(t.Context()))
	before := size(t, path)
	used, err := d.Used(t.Context())
	must(t, err)
	must(t, d.Write(t.Context(), func(ctx context.Context, tx *database.Tx) error {
		return tx.Exec(ctx, "DELETE FROM items")
	}))
	must(t, d.GiveBack(t.Context()))
	left, err := d.Used(t.Context())
	must(t, err)
	if after := size(t, path); after > before/4 || left > used/4 {
		t.Errorf("%d bytes became %d, of which %d and %d are used", before, after, used, left)
	}
}

// TestUnlocked reads a database without a change, beside the process that has it.
func TestUnlocked(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "items.db")
	if _, err := database.OpenUnlocked(t.Context(), path, items); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	written(t, path, 3)
	openAt(t, path)
	later := items
	later.Migrations = slices.Concat(items.Migrations, []string{"DROP TABLE items"})
	d, err := database.OpenUnlocked(t.Context(), path, later)
	must(t, err)
	var n int64
	must(t, d.Read(t.Context(), func(q database.Querier) error {
		return database.Scan(
			t.Context(), q, "SELECT count(*) FROM items", nil, []any{&n}, func() error { return nil },
		)
	}))
	if n != 3 || d.Version() != 1 {
		t.Errorf("%d items in version %d", n, d.Version())
	}
	must(t, d.Close())
	must(t, d.Close())
	older := items
	older.Migrations = nil
	if _, err := database.OpenUnlocked(t.Context(), path, older); !errors.Is(err, store.ErrNewer) {
		t.Errorf("a newer version: %v", err)
	}
	other := items
	other.ApplicationID++
	if _, err := database.OpenUnlocked(t.Context(), path, other); !errors.Is(err, store.ErrForeign) ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("another program: %v", err)
	}
}

// TestRelativePath: a path may begin in the working directory.
func TestRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	written(t, "items.db", 3)
	d, err := database.OpenUnlocked(t.Context(), "items.db", items)
	must(t, err)
	must(t, d.Close())
}
