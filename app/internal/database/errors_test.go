// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestSystemErrors: an error of the disk or of the file system has a kind, also with an extended
// code.
func TestSystemErrors(t *testing.T) {
	dir := t.TempDir()
	d := openAt(t, filepath.Join(dir, "items.db"))
	for name, source := range map[string]string{
		"cannot open": filepath.Join(dir, "missing", "x.db"),
		"cannot read": "file:" + dir + "?mode=ro", // a directory
	} {
		t.Run(name, func(t *testing.T) {
			other, err := sql.Open("sqlite", source)
			if err != nil {
				t.Fatal(err)
			}
			_, err = other.ExecContext(t.Context(), "SELECT * FROM sqlite_schema")
			if err := d.Failed(t.Context(), "read", err); !errors.Is(err, store.ErrSystem) {
				t.Errorf("got %v", err)
			}
			t.Log(err)
			if err := other.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
