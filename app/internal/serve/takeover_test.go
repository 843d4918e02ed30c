// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

// formerStore unpacks the store of a server of the last release with one file for all, which was
// killed: a finished trace of Deployment web, which was still to be sent, and an open one of
// Deployment slow, whose image was being pulled.
func formerStore(t *testing.T) (path string, finished, open trace.TraceID) {
	t.Helper()
	packed, err := os.Open("testdata/former.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	path = archiveFile(t.TempDir())
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	finished, _ = trace.TraceIDFromHex("9baacf96ef0c742b51673201af9a0b4b")
	open, _ = trace.TraceIDFromHex("d27ab5e743982cef4cfbc94c0eecc137")
	return path, finished, open
}

// TestTakeOver: the state of a store of an earlier release comes into the journal: the engine with
// its open trace, the positions of the watches, and what was to be sent. The finished traces stay in
// the archive. A process that was killed meanwhile begins again, with the same result.
func TestTakeOver(t *testing.T) {
	path, finished, open := formerStore(t)
	j, err := journal.Open(t.Context(), journalFile(filepath.Dir(path)))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	log := slog.New(slog.DiscardHandler)
	for _, step := range []string{"first", "after a kill"} {
		if err := takeOver(t.Context(), j, path, log); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		entries, err := j.Pending(t.Context(), journal.Sender|journal.Archive)
		if err != nil || len(entries) != 1 || entries[0].TraceID != finished || entries[0].Spans != 8 ||
			entries[0].For != journal.Sender {
			t.Fatalf("%s: the log has %+v %v, want the finished trace for the sender", step, entries, err)
		}
		if kept, sent, err := j.Kept(t.Context(), finished); !kept || !sent || err != nil {
			t.Errorf("%s: the finished trace is kept %t, sent %t: %v", step, kept, sent, err)
		}
		if step == "first" { // the mark is the last step
			if err := j.Commit(t.Context(), &journal.Changes{
				AsOf: time.Now(), State: map[string][]byte{takenState: nil},
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	o := recorderOptions{
		Engine:   lifecycle.Options{Cluster: "78ac0815-caec-4988-a291-e2cbae8bdf27"},
		Sampling: func() sampling { return sampling{ratePerMillion: 1_000_000} }, Warn: log.Warn,
	}
	r, err := restore(t.Context(), j, o, time.Now().Add(maxAhead))
	if err != nil || r.discarded != nil {
		t.Fatal(err, r.discarded)
	}
	traces := r.engine.Traces(r.last)
	if len(traces) != 1 || traces[0].ID != open || len(traces[0].Spans) < 5 {
		t.Errorf("the engine has %d open traces, want that of Deployment slow", len(traces))
	}
	if len(r.at) < 20 || !r.orphans.none() {
		t.Errorf("%d positions of watches, %d orphans; want over 20, none", len(r.at), len(r.orphans.traces))
	}

	a, err := sqlite.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if got, err := a.Trace(t.Context(), store.Scope{}, finished); err != nil || got.Spans != 8 {
		t.Errorf("the archive has the finished trace as %+v: %v", got, err)
	}
	if _, err := a.Trace(t.Context(), store.Scope{}, open); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the archive has the open trace: %v", err)
	}
	if err := takeOver(t.Context(), j, path, log); err != nil {
		t.Errorf("a second start: %v", err)
	}
}

// TestTakeOverWithoutEngine: if the engine cannot be restored, the open traces of the former store
// wait as orphans.
func TestTakeOverWithoutEngine(t *testing.T) {
	path, _, open := formerStore(t)
	j, err := journal.Open(t.Context(), journalFile(filepath.Dir(path)))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	log := slog.New(slog.DiscardHandler)
	if err := takeOver(t.Context(), j, path, log); err != nil {
		t.Fatal(err)
	}
	if err := j.Commit(t.Context(), &journal.Changes{
		AsOf: time.Now(), State: map[string][]byte{engineState: []byte("of another format")},
	}); err != nil {
		t.Fatal(err)
	}
	r, err := restore(t.Context(), j, recorderOptions{Warn: log.Warn}, time.Now().Add(maxAhead))
	if err != nil || r.discarded == nil {
		t.Fatal(err, "the engine was restored")
	}
	if r.orphans.traces[open] == nil {
		t.Error("the open trace is no orphan")
	}
}

// TestTakeOverDamaged: damage of the former traces does not hold up the server. Its state comes into
// the journal, and the take-over is complete.
func TestTakeOverDamaged(t *testing.T) {
	path, _, _ := formerStore(t)
	db, err := sql.Open("sqlite", path)
	must(t, err)
	var page, size int64
	must(t, db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = 'traces'").Scan(&page))
	must(t, db.QueryRow("PRAGMA page_size").Scan(&size))
	must(t, db.Close())
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt(bytes.Repeat([]byte("garbage!"), int(size/8)), (page-1)*size)
	must(t, errors.Join(err, f.Close()))

	j, err := journal.Open(t.Context(), journalFile(filepath.Dir(path)))
	must(t, err)
	defer j.Close()
	must(t, takeOver(t.Context(), j, path, slog.New(slog.DiscardHandler)))
	for _, name := range []string{takenState, engineState} {
		if _, err := j.State(t.Context(), name); err != nil {
			t.Errorf("state %s: %v", name, err)
		}
	}
}
