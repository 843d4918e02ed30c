// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestFailedReplacement: a report of damage stays until a success. If a failed attempt has set the
// file aside, the next success has its name.
func TestFailedReplacement(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.db")
	written(t, path, 3)
	var r database.Reports
	r.Add(store.ErrDamaged)
	r.Add(store.ErrDamaged)

	d := openAt(t, path)
	_, err := database.Replace(t.Context(), path, items, r.Damage()) // another one has its lock
	if r.Opened(database.Opening{}, err); !errors.Is(err, store.ErrInUse) || r.Damage() == nil {
		t.Fatalf("the first attempt: %v, the damage is %v", err, r.Damage())
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}

	broken := items
	broken.Migrations = []string{"no SQL"}
	_, err = database.Replace(t.Context(), path, broken, r.Damage())
	var aside *database.SetAsideError
	if !errors.As(err, &aside) {
		t.Fatalf("the second attempt: %v", err)
	}
	if r.Opened(database.Opening{}, err); r.Damage() != nil {
		t.Error("the third attempt would set the new file aside")
	}

	d, err = database.Replace(t.Context(), path, items, r.Damage())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	o := r.Opened(d.Opening(), nil)
	if o.SetAside != aside.Opening.SetAside || !errors.Is(o.Why, store.ErrDamaged) {
		t.Errorf("the third attempt: %+v, want %+v", o, aside.Opening)
	}
	if _, err := os.Stat(o.SetAside); err != nil {
		t.Error(err)
	}
	if o = r.Opened(database.Opening{}, nil); o.SetAside != "" {
		t.Errorf("the loss is reported twice: %+v", o)
	}
}
