// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

// waysToLose lose the files of a database in use.
func waysToLose() map[string]loss {
	return map[string]loss{
		"deleted": {
			"SQLite still writes to the unlinked file",
			func(t *testing.T, path string) { must(t, os.Remove(path)) },
		},
		"directory deleted": {
			"the lock is deleted as well",
			func(t *testing.T, path string) { must(t, os.RemoveAll(filepath.Dir(path))) },
		},
		"log deleted": {
			"the newest batches are in the log",
			func(t *testing.T, path string) { must(t, os.Remove(path+"-wal")) },
		},
		"replaced by another store": {"its journal does not fit the engine", func(t *testing.T, path string) {
			other := filepath.Join(t.TempDir(), "other.db")
			emptyDatabase(t, other)
			must(t, os.Rename(other, path))
		}},
		"replaced by garbage": {"it is no database", func(t *testing.T, path string) {
			must(t, os.WriteFile(path+".new", []byte("garbage"), 0o600))
			must(t, os.Rename(path+".new", path))
		}},
		"overwritten with garbage": {"the inode stays", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, bytes.Repeat([]byte("garbage!"), 4096), 0o600))
		}},
		"overwritten with another store": {"as cp does", func(t *testing.T, path string) {
			other := filepath.Join(t.TempDir(), "other.db")
			emptyDatabase(t, other)
			data, err := os.ReadFile(other)
			must(t, err)
			must(t, os.WriteFile(path, data, 0o600))
		}},
		"truncated": {"nothing is left", func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) }},
	}
}

// loss loses the files of a database in use.
type loss struct {
	reason string
	lose   func(t *testing.T, path string)
}

// emptyDatabase makes an empty archive; as a journal it is a database of another program.
func emptyDatabase(t *testing.T, path string) {
	t.Helper()
	a, err := sqlite.Open(t.Context(), store.Config{Path: path})
	must(t, err)
	must(t, a.Close())
}

// TestLostStore loses the files of a journal in use. The recorder begins a new one, and everything
// open is in it. Finished traces stay, wherever they are.
func TestLostStore(t *testing.T) {
	for name, tc := range waysToLose() {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			testLost(t, tc.lose)
		})
	}
}

func testLost(t *testing.T, lose func(t *testing.T, path string)) {
	t.Helper()
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	half := len(seen) / 2
	dir := filepath.Join(t.TempDir(), "cluster")
	must(t, os.Mkdir(dir, 0o700))
	w := newWorldOver(t, dir, nil) // so that finished traces wait in the log
	r := w.restore(t, recorderOptions{Sends: func(*span.Trace) bool { return true }})
	at := watch.Position{Version: "42"}
	at.Resource.Resource, at.Resource.Version = "pods", "v1"
	r.reach(at)
	r.mark(auditState, "somewhere")
	for _, o := range seen[:half] {
		r.observe(o)
	}
	now := seen[half-1].Seen
	must(t, r.look(t.Context(), now))
	waiting := spantest.Apply()
	l := &look{Changes: &journal.Changes{AsOf: now, Entries: []*journal.Entry{entry(waiting)}}, open: r.open}
	must(t, w.Commit(t.Context(), l.Changes))
	w.publish(l)
	before, err := w.Pending(t.Context(), journal.Archive)
	must(t, err)
	// The database's log starts again: the earlier content is in the database alone.
	must(t, w.GiveBack(t.Context(), time.Time{}))
	r.reach(at)
	now = now.Add(time.Millisecond)
	must(t, r.look(t.Context(), now))
	want := w.open(t)
	if len(want) == 0 {
		t.Fatal("nothing is open")
	}

	lose(t, journalFile(dir))
	for tries := 0; ; tries++ {
		now = now.Add(time.Millisecond)
		if err := r.look(t.Context(), now); err == nil {
			break
		} else if tries == 3 {
			t.Fatalf("no journal: %v", err)
		}
	}
	if kept, sent, err := w.Kept(t.Context(), waiting.ID); err != nil || !kept || !sent {
		t.Errorf("the finished trace is kept %t, sent %t (%v)", kept, sent, err)
	}
	w.end()

	w, r = begin(t, dir)
	if r.discarded != nil {
		t.Errorf("not restored: %v", r.discarded)
	}
	if d := cmp.Diff([]watch.Position{at}, r.positions()); d != "" {
		t.Errorf("positions -want +got:\n%s", d)
	}
	if place, err := w.State(t.Context(), auditState); string(place) != "somewhere" {
		t.Errorf("the place in the audit log is %q, %v", place, err)
	}
	after, err := w.Pending(t.Context(), journal.Sender)
	must(t, err)
	if d := cmp.Diff(before, after, cmpopts.IgnoreFields(journal.Item{}, "For")); d != "" || len(after) != 1 {
		t.Errorf("the log -before +after:\n%s", d)
	}
	must(t, r.look(t.Context(), now.Add(time.Millisecond)))
	if d := cmp.Diff(want, w.open(t)); d != "" {
		t.Errorf("open traces -want +got:\n%s", d)
	}
	if got := len(w.trace(t, waiting.ID).Trace.Spans); got != len(waiting.Spans) {
		t.Errorf("the finished trace has %d spans, want %d", got, len(waiting.Spans))
	}
}

// TestLostWhileIdle: the loss is noticed in an idle cluster, too.
func TestLostWhileIdle(t *testing.T) {
	dir := t.TempDir()
	path := journalFile(dir)
	w, r := begin(t, dir)
	var reported []error
	w.Renewed = func(why error, _ database.Opening) { reported = append(reported, why) }
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	must(t, r.look(t.Context(), now))
	if !r.idle(t.Context()) {
		t.Fatal("it is not idle")
	}
	must(t, os.Remove(path))
	if r.idle(t.Context()) {
		t.Error("it is idle without its journal")
	}
	if err := r.look(t.Context(), now); !errors.Is(err, journal.ErrRenewed) {
		t.Errorf("the first look: %v", err)
	}
	if r.idle(t.Context()) {
		t.Error("it is idle before the new journal has the engine")
	}
	must(t, r.look(t.Context(), now))
	if !r.idle(t.Context()) {
		t.Error("it is not idle with the new journal")
	}
	if _, err := w.State(t.Context(), engineState); err != nil {
		t.Error(err)
	}
	if len(reported) != 1 || !strings.Contains(reported[0].Error(), path+" was deleted") {
		t.Errorf("it reported %v", reported)
	}
}

// TestReportLostStore: log and readiness name the file; readiness does so for a
// while.
func TestReportLostStore(t *testing.T) {
	var log bytes.Buffer
	m, _ := noMetrics()
	s := &losses{count: m.storage.lost, log: slog.New(slog.NewTextHandler(&log, nil))}
	if err := s.check(); err != nil {
		t.Errorf("at first: %v", err)
	}
	s.renewed("/data/a.db", store.ErrDamaged, database.Opening{})
	if err := s.check(); err != nil || !strings.Contains(log.String(), "stays in use") {
		t.Errorf("for a journal that is not damaged: %v\n%s", err, log.String())
	}
	why := &store.LostError{File: "/data/a.db-wal", What: "was deleted", SetAside: "/data/a.db.damaged-1"}
	s.renewed("/data/a.db", fmt.Errorf("cannot write: %w", why), database.Opening{})
	for _, want := range []string{"level=ERROR", "/data/a.db-wal was deleted", "setAside=/data/a.db.damaged-1"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log:\n%s", want, log.String())
		}
	}
	if err := s.check(); !errors.Is(err, why) {
		t.Errorf("readiness mentions %v", err)
	}
	s.at = s.at.Add(-lossNoted)
	if err := s.check(); err != nil {
		t.Errorf("readiness still mentions %v", err)
	}
}

// TestReportOfDamageStays: a failed opening of the archive does not use up a report of damage.
func TestReportOfDamageStays(t *testing.T) {
	p := startStored(t, t.TempDir())
	p.archivedAll(p.finish())
	p.end()
	for range 2 {
		p.opener.lost(store.ErrDamaged)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.opener.open(ended); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	a, err := p.opener.open(t.Context())
	must(t, err)
	must(t, a.Close())
	if files := p.unsalvaged(); len(files) != 1 {
		t.Errorf("set aside: %v", files)
	}
	p.log.await(t, `(the archive was lost while the server ran)`)
}
