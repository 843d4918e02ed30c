// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestBackup copies a database while a writer adds pairs of items. A copy of one moment has an even
// number of them.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	d := openAt(t, filepath.Join(dir, "items.db"))
	add(t, d, 20_000)
	var stop atomic.Bool
	done := make(chan error)
	go func() {
		var err error
		for !stop.Load() && err == nil {
			err = d.Write(t.Context(), func(ctx context.Context, tx *database.Tx) error {
				err := tx.Exec(ctx, "INSERT INTO items (value) VALUES (x'01')")
				return errors.Join(err, tx.Exec(ctx, "INSERT INTO items (value) VALUES (x'02')"))
			})
		}
		done <- err
	}()
	to := filepath.Join(dir, "copy's.db")
	before := count(t, d)
	must(t, d.Backup(t.Context(), to))
	stop.Store(true)
	must(t, <-done)
	after := count(t, d)
	info, err := os.Stat(to)
	must(t, err)
	if info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the copy is %v", info.Mode())
	}
	c := openAt(t, to)
	n := count(t, c)
	if n%2 != 0 || n < before || n > after || c.Opening().Version != 1 || c.Opening().SetAside != "" {
		t.Errorf("the copy has %d items, the database had %d and then %d; %+v", n, before, after, c.Opening())
	}
	t.Logf("%d items were added meanwhile", after-before)
	add(t, c, 1)
}

func TestBackupFails(t *testing.T) {
	dir := t.TempDir()
	d := openAt(t, filepath.Join(dir, "items.db"))
	add(t, d, 100)
	there := filepath.Join(dir, "there.db")
	must(t, os.WriteFile(there, nil, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "running.db.partial"), nil, 0o600))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx  context.Context
		path string
		want error
		text string
	}{
		"there":        {t.Context(), there, fs.ErrExist, there},
		"running":      {t.Context(), filepath.Join(dir, "running.db"), nil, "running.db.partial"},
		"no directory": {t.Context(), filepath.Join(dir, "none", "x.db"), fs.ErrNotExist, "none"},
		"cancelled":    {ended, filepath.Join(dir, "cancelled.db"), context.Canceled, "cancelled.db"},
	} {
		err := d.Backup(tc.ctx, tc.path)
		if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "cancelled*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	must(t, d.Close())
	if err := d.Backup(t.Context(), filepath.Join(dir, "closed.db")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}
