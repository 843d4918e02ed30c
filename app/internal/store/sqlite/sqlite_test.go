// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/store/storetest"
)

// open creates a database and closes it at the end of the test.
func open(t testing.TB) store.Archive {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "lifeline.db"))
}

func openAt(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) { storetest.Run(t, open) }

func TestQuestions(t *testing.T) { storetest.Questions(t, storetest.ReadingOf(open)) }

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, open) }

// TestPruneGivesBack looks at the file itself.
func TestPruneGivesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lifeline.db")
	s := openAt(t, path)
	if err := s.Write(
		t.Context(),
		&store.Batch{Revision: 1, AsOf: spantest.Epoch, Finished: []*span.Trace{spantest.Many(3000)}},
	); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(t.Context(), store.Limits{}); err != nil { // copies the log to the database
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(t.Context(), store.Limits{Bytes: 1}); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || after.Size() > before.Size()/4 {
		t.Errorf("%d bytes became %d, %v", before.Size(), after.Size(), err)
	}
}

func TestRecordings(t *testing.T) {
	paths, err := filepath.Glob("../../lifecycle/testdata/*.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	storetest.Recordings(t, open, paths)
}
