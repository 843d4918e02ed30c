// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/store/storetest"
	"github.com/kube-lifeline/lifeline/app/internal/view"
)

// TestQuestions: a view of archived traces answers as the archive does.
func TestQuestions(t *testing.T) {
	storetest.Questions(t, func(t testing.TB, batches ...*store.Batch) store.Reader {
		t.Helper()
		s, err := sqlite.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "lifeline.db")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		for _, b := range batches {
			if err := s.Write(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		none := func(context.Context, uint64) (*span.Trace, error) { return nil, store.ErrNotFound }
		v := view.New(none, func() (store.Stored, error) { return s, nil })
		v.Publish(spantest.Epoch, 1, nil, nil)
		return v
	})
}
