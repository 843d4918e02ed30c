// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestMigrate migrates a database to future schemas: one step fails at first and succeeds later.
func TestMigrate(t *testing.T) {
	released := migrations
	defer func() { migrations = released }()
	path := filepath.Join(t.TempDir(), "lifeline.db")
	tr := spantest.Apply()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(
		t.Context(),
		&store.Batch{Revision: 1, AsOf: spantest.Epoch, Finished: []*span.Trace{tr}},
	); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	next := len(released)
	good, bad := "CREATE TABLE further (x)", "CREATE TABLE other (x); INSERT INTO nowhere VALUES (1)"
	migrations = slices.Concat(released, []string{good, bad})
	if _, err := Open(
		t.Context(),
		path,
	); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("from version %d to %d", next+1, next+2)) {
		t.Errorf("a step that fails: %v", err)
	}
	migrations[next+1] = "CREATE TABLE other (x)"
	for _, version := range []int{next + 1, next + 2} { // the good step was kept, the bad one undone
		s, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if s.Opening().Version != version {
			t.Errorf("found version %d, want %d", s.Opening().Version, version)
		}
		if got, err := s.Trace(t.Context(), tr.ID); err != nil || len(got.Trace.Spans) != len(tr.Spans) {
			t.Errorf("the trace: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
