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

	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// TestLostStore deletes, replaces or overwrites the files of a store in use. The
// recorder begins a new store, and everything open is in it.
func TestLostStore(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		lose   func(t *testing.T, path string)
	}{
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
			must(t, openSQLite(t, other).Close())
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
			must(t, openSQLite(t, other).Close())
			data, err := os.ReadFile(other)
			must(t, err)
			must(t, os.WriteFile(path, data, 0o600))
		}},
		"truncated": {"nothing is left", func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			testLost(t, tc.lose)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testLost(t *testing.T, lose func(t *testing.T, path string)) {
	t.Helper()
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	half := len(seen) / 2
	path := filepath.Join(t.TempDir(), "cluster", "lifeline.db")
	l, err := openLedger(t.Context(), func(ctx context.Context) (store.Store, error) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		return sqlite.Open(ctx, path)
	})
	must(t, err)
	t.Cleanup(func() { _ = l.close() })
	r, err := restore(
		t.Context(),
		l,
		recorderOptions{Engine: lifecycle.Options{Cluster: "recorded"}, Sampling: keepAll, Warn: quietly},
		forever,
	)
	must(t, err)
	at := watch.Position{Version: "42"}
	at.Resource.Resource, at.Resource.Version = "pods", "v1"
	r.reach(at)
	r.mark(auditState, "somewhere")
	for _, o := range seen[:half] {
		r.observe(o)
	}
	now := seen[half-1].Seen
	must(t, r.look(t.Context(), now))
	// The log starts again: the earlier content is in the database alone.
	_, err = l.prune(t.Context(), store.Limits{})
	must(t, err)
	r.reach(at)
	now = now.Add(time.Millisecond)
	must(t, r.look(t.Context(), now))
	want := ids(t, l)
	if len(want) == 0 {
		t.Fatal("nothing is open")
	}

	lose(t, path)
	for tries := 0; ; tries++ {
		now = now.Add(time.Millisecond)
		if err = r.look(t.Context(), now); err == nil {
			break
		}
		if tries == 3 {
			t.Fatalf("no store: %v", err)
		}
	}
	must(t, l.close())

	again := begin(t, openSQLite(t, path))
	if again.discarded != nil {
		t.Errorf("not restored: %v", again.discarded)
	}
	if d := cmp.Diff(want, ids(t, again.ledger)); d != "" {
		t.Errorf("open traces -want +got:\n%s", d)
	}
	if d := cmp.Diff([]watch.Position{at}, again.positions()); d != "" {
		t.Errorf("positions -want +got:\n%s", d)
	}
	if place, err := again.ledger.State(t.Context(), auditState); string(place) != "somewhere" {
		t.Errorf("the place in the audit log is %q, %v", place, err)
	}
}

// TestLostWhileIdle: the loss is noticed in an idle cluster, too.
func TestLostWhileIdle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lifeline.db")
	l, err := openLedger(t.Context(), func(ctx context.Context) (store.Store, error) { return sqlite.Open(ctx, path) })
	must(t, err)
	t.Cleanup(func() { _ = l.close() })
	var reported []error
	l.replaced = func(why error) { reported = append(reported, why) }
	r, err := restore(
		t.Context(),
		l,
		recorderOptions{Engine: lifecycle.Options{Cluster: "recorded"}, Sampling: keepAll, Warn: quietly},
		forever,
	)
	must(t, err)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	must(t, r.look(t.Context(), now))
	if !r.idle(t.Context()) {
		t.Fatal("it is not idle")
	}
	must(t, os.Remove(path))
	if r.idle(t.Context()) {
		t.Error("it is idle without its store")
	}
	if err := r.look(t.Context(), now); !errors.Is(err, errRenewed) {
		t.Errorf("the first look: %v", err)
	}
	if r.idle(t.Context()) {
		t.Error("it is idle before the new store has the engine")
	}
	must(t, r.look(t.Context(), now))
	if !r.idle(t.Context()) {
		t.Error("it is not idle with the new store")
	}
	if _, err := l.State(t.Context(), engineState); err != nil {
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
	s := &server{metrics: telemetry.NewMetrics(nil), log: slog.New(slog.NewTextHandler(&log, nil))}
	if err := s.keeping(); err != nil {
		t.Errorf("at first: %v", err)
	}
	s.replaced("/data/a.db", store.ErrDamaged, sqlite.Opening{})
	if err := s.keeping(); err != nil || !strings.Contains(log.String(), "stays in use") {
		t.Errorf("for a store that is not damaged: %v\n%s", err, log.String())
	}
	why := &store.LostError{File: "/data/a.db-wal", What: "was deleted", SetAside: "/data/a.db.damaged-1"}
	s.replaced("/data/a.db", fmt.Errorf("cannot write: %w", why), sqlite.Opening{})
	for _, want := range []string{"level=ERROR", "/data/a.db-wal was deleted", "setAside=/data/a.db.damaged-1"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log:\n%s", want, log.String())
		}
	}
	if err := s.keeping(); !errors.Is(err, why) {
		t.Errorf("readiness mentions %v", err)
	}
	s.state.lostAt = s.state.lostAt.Add(-lossNoted)
	if err := s.keeping(); err != nil {
		t.Errorf("readiness still mentions %v", err)
	}
}

// ids are the open traces of a store.
func ids(t *testing.T, st store.Reader) []string {
	t.Helper()
	page, err := st.List(t.Context(), store.Query{Open: true, Limit: store.MaxPage})
	must(t, err)
	var out []string
	for _, sum := range page.Traces {
		out = append(out, sum.ID.String())
	}
	return out
}
