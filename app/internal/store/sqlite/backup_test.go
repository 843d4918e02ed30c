// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestBackup: the copy is an archive with the same traces.
func TestBackup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lifeline.db")
	varied(t, path)
	s := openAt(t, path)
	to := filepath.Join(t.TempDir(), "copy.db")
	must(t, s.Backup(t.Context(), to))
	want, err := s.List(t.Context(), store.Query{Limit: store.MaxPage})
	must(t, err)
	c := openAt(t, to)
	got, err := c.List(t.Context(), store.Query{Limit: store.MaxPage})
	must(t, err)
	if d := cmp.Diff(want, got); d != "" || len(got.Traces) == 0 {
		t.Errorf("%+v (-want +got):\n%s", c.Opening(), d)
	}
}
