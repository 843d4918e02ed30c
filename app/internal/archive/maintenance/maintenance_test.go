// SPDX-License-Identifier: Apache-2.0

package maintenance_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/app/internal/archive/document"
	"github.com/kube-lifeline/lifeline/app/internal/archive/maintenance"
	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/datadir"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// in returns a small trace of an object in a namespace.
func in(namespace, name string, start int) *span.Trace {
	b := spantest.New(namespace + "/" + name)
	ref := spantest.Ref("apps", "Deployment", name)
	ref.Namespace = namespace
	b.Add(nil, "reconcile Deployment", "deployment-controller", ref, start, start+100)
	b.Trace.Outcome = span.Converged
	return b.Trace
}

var (
	shop, other = in("shop", "web", 0), in("other", "db", 1000)
	late        = &span.Trace{ID: shop.ID, Spans: []*span.Span{
		{TraceID: shop.ID, ID: trace.SpanID{1}, Name: "late", Start: spantest.At(1), End: spantest.At(2)},
	}}
)

// filled makes the directory of a cluster with two traces: one is in the archive, the other waits in
// the journal of a server that was killed.
func filled(t *testing.T, dataDir string) (dir string) {
	t.Helper()
	dir, err := datadir.Make(dataDir, "cluster-1")
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), store.Config{Path: datadir.Archive(dir)})
	if err != nil {
		t.Fatal(err)
	}
	asOf := spantest.Epoch.Add(time.Hour)
	err = s.Write(t.Context(), &store.Batch{Revision: 1, AsOf: asOf, Finished: []*span.Trace{other}})
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.Context(), datadir.Journal(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*journal.Entry{
		{Item: journal.Item{For: journal.Archive | journal.Sender}, Trace: shop},
		{Item: journal.Item{For: journal.Archive | journal.Sender, Amends: true}, Trace: late},
	} {
		if err := j.Commit(t.Context(), &journal.Changes{AsOf: asOf, Entries: []*journal.Entry{e}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t *testing.T, dir string) *maintenance.Local {
	t.Helper()
	l, err := maintenance.Open(t.Context(), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// ways are the two ways to the operations: on the files, and over the socket.
var ways = map[string]func(t *testing.T, dir string) maintenance.Operations{
	"files": func(t *testing.T, dir string) maintenance.Operations { return open(t, dir) },
	"socket": func(t *testing.T, dir string) maintenance.Operations {
		serve(t, dir, open(t, dir))
		c, err := maintenance.Connect(t.Context(), dir, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := c.(*maintenance.Client); !ok {
			t.Fatalf("a running server is not used: %T", c)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	},
}

// serve offers operations on the socket until the end of the test.
func serve(t *testing.T, dir string, o maintenance.Operations) (end func()) {
	t.Helper()
	ln, err := maintenance.Listen(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- maintenance.Serve(ctx, ln, o, "test") }()
	done := false
	end = func() {
		if done {
			return
		}
		done = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(end)
	return end
}

func each(t *testing.T, test func(t *testing.T, dir string, o maintenance.Operations)) {
	t.Helper()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			dir := filled(t, t.TempDir())
			test(t, dir, way(t, dir))
		})
	}
}

// export returns the traces of an export.
func export(t *testing.T, o maintenance.Operations, f maintenance.Filter) (lines [][]byte, all []*document.Trace) {
	t.Helper()
	var out bytes.Buffer
	done, err := o.Export(t.Context(), f, &out)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out.Bytes()) {
		one, err := document.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		lines, all = append(lines, line), append(all, one)
	}
	if int(done.Traces) != len(all) || done.Missing != 0 {
		t.Errorf("%d lines, but %+v", len(all), done)
	}
	return lines, all
}

func TestExportAndImport(t *testing.T) {
	each(t, func(t *testing.T, _ string, o maintenance.Operations) {
		if o.Cluster() != "cluster-1" {
			t.Errorf("cluster %q", o.Cluster())
		}
		lines, all := export(t, o, maintenance.Filter{})
		if len(all) != 2 || all[0].ID() != other.ID || all[1].ID() != shop.ID {
			t.Fatalf("exported %d traces, want the archived one and the one of the journal", len(all))
		}
		if got := len(all[1].Batches); got != 2 {
			t.Errorf("%d batches, want the trace and its later span", got)
		}
		for _, f := range []maintenance.Filter{
			{Namespace: "shop"}, {Until: spantest.Epoch.Add(time.Second)},
			{Since: spantest.Epoch, Until: spantest.Epoch.Add(time.Nanosecond)},
			{ID: shop.ID.String()}, {ID: strings.ToUpper(shop.ID.String()[:8])},
		} {
			if _, some := export(t, o, f); len(some) != 1 || some[0].ID() != shop.ID {
				t.Errorf("%+v: %d traces", f, len(some))
			}
		}
		if _, none := export(t, o, maintenance.Filter{ID: "0123456789"}); len(none) > 0 {
			t.Errorf("%d traces for an unknown ID", len(none))
		}
		if _, err := o.Export(t.Context(), maintenance.Filter{ID: "no digits"}, io.Discard); err == nil {
			t.Error("an ID without digits selects traces")
		}

		to, err := maintenance.Open(t.Context(), t.TempDir(), true)
		if err != nil {
			t.Fatal(err)
		}
		defer to.Close()
		for i := range 2 {
			for _, line := range lines {
				got, err := to.Import(t.Context(), line)
				if err != nil || got.Added != (i == 0) || got.Cluster != "cluster-1" {
					t.Errorf("round %d: %+v, %v", i, got, err)
				}
			}
		}
		again, err := to.Export(t.Context(), maintenance.Filter{}, io.Discard)
		if err != nil || again.Traces != 2 {
			t.Errorf("%+v, %v", again, err)
		}
		for _, line := range lines {
			if got, err := o.Import(t.Context(), line); err != nil || got.Added {
				t.Errorf("back into its own archive: %+v, %v", got, err)
			}
		}
		if _, err := o.Import(t.Context(), []byte("{}")); !errors.Is(err, document.ErrDamaged) ||
			!strings.Contains(err.Error(), `no member "lifeline"`) {
			t.Errorf("a foreign line: %v", err)
		}
		gone := errors.New("gone")
		if _, err := o.Export(t.Context(), maintenance.Filter{}, failing{gone}); !errors.Is(err, gone) {
			t.Errorf("a reader that has gone: %v", err)
		}
	})
}

// TestImportOfExpired: an import of a trace beyond the retention of the server says so.
func TestImportOfExpired(t *testing.T) {
	each(t, func(t *testing.T, _ string, o maintenance.Operations) {
		lines, _ := export(t, o, maintenance.Filter{})
		to, err := maintenance.Open(t.Context(), t.TempDir(), true)
		if err != nil {
			t.Fatal(err)
		}
		defer to.Close()
		for _, expired := range []bool{false, true} {
			to.Limits = func() store.Limits { return store.Limits{Before: spantest.Epoch.Add(-time.Hour)} }
			if expired {
				to.Limits = func() store.Limits { return store.Limits{Before: spantest.Epoch.Add(24 * time.Hour)} }
			}
			for _, line := range lines {
				if got, err := to.Import(t.Context(), line); err != nil || got.Expired != expired || got.End.IsZero() {
					t.Errorf("%+v, %v, want expired %t", got, err, expired)
				}
			}
		}
	})
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestBackup(t *testing.T) {
	each(t, func(t *testing.T, dir string, o maintenance.Operations) {
		path := filepath.Join(t.TempDir(), "copy.db")
		if _, err := o.Backup(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Backup(t.Context(), path); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a second copy: %v", err)
		}
		if _, err := o.Backup(t.Context(), "relative.db"); err == nil {
			t.Error("a relative path was accepted")
		}
		var data bytes.Buffer
		if _, err := o.Copy(t.Context(), &data); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "copy.tmp-*")); len(left) > 0 {
			t.Errorf("left %v", left)
		}
		streamed := filepath.Join(t.TempDir(), "streamed.db")
		if err := os.WriteFile(streamed, data.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{path, streamed} {
			to := t.TempDir()
			if err := os.Rename(path, datadir.Archive(to)); err != nil { // as in the guide
				t.Fatal(err)
			}
			if _, all := export(t, open(t, to), maintenance.Filter{}); len(all) != 2 {
				t.Errorf("the copy has %d traces", len(all))
			}
		}
	})
}

// TestInterruptedCopy: the next start removes the copy of a process that was killed, and nothing else.
func TestInterruptedCopy(t *testing.T) {
	dir := filled(t, t.TempDir())
	left, other := filepath.Join(dir, "copy.tmp-1"), filepath.Join(dir, "backup-2026")
	for _, at := range []string{left, other} {
		err := os.Mkdir(at, 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(at, "lifeline.db.partial"), []byte("data"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	l := open(t, dir)
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	var out bytes.Buffer
	if _, err := l.Copy(t.Context(), &out); err != nil || out.Len() == 0 {
		t.Errorf("a copy of %d bytes, %v", out.Len(), err)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "copy.tmp-*")); len(found) > 0 {
		t.Errorf("left are %v", found)
	}
}

func TestForget(t *testing.T) {
	each(t, func(t *testing.T, dir string, o maintenance.Operations) {
		if _, err := o.Forget(t.Context(), ""); err == nil {
			t.Error("no namespace was accepted")
		}
		got, err := o.Forget(t.Context(), "shop")
		if err != nil {
			t.Fatal(err)
		}
		if got.Traces != 1 || got.Unsent != 2 {
			t.Errorf("removed %+v, want one trace, and two entries that were not sent", got)
		}
		if _, all := export(t, o, maintenance.Filter{}); len(all) != 1 || all[0].ID() != other.ID {
			t.Errorf("%d traces are left", len(all))
		}
		for _, file := range []string{datadir.Archive(dir), datadir.Journal(dir)} {
			for _, path := range []string{file, file + "-wal"} {
				data, err := os.ReadFile(path)
				if err == nil && bytes.Contains(data, []byte("shop")) {
					t.Errorf("%s still has the namespace", path)
				}
			}
		}
		again, err := o.Forget(t.Context(), "shop")
		if err != nil || again != (maintenance.Forgotten{}) {
			t.Errorf("a repetition: %+v, %v", again, err)
		}
	})
}

func TestPin(t *testing.T) {
	each(t, func(t *testing.T, _ string, o maintenance.Operations) {
		id := shop.ID.String()
		for _, tc := range []struct {
			id         string
			on, before bool
		}{{id[:8], true, false}, {strings.ToUpper(id), true, true}, {id, false, true}, {id, false, false}} {
			got, err := o.Pin(t.Context(), tc.id, tc.on)
			want := maintenance.Pinned{TraceID: id, What: "reconcile Deployment shop/web", Before: tc.before}
			if err != nil || got != want {
				t.Errorf("%+v: %+v, %v", tc, got, err)
			}
			_, all := export(t, o, maintenance.Filter{Namespace: "shop"})
			if all[0].Pinned != tc.on {
				t.Errorf("%+v: exported as pinned: %t", tc, all[0].Pinned)
			}
		}
		for _, bad := range []string{"", "abc", "no-number", id + "0"} {
			if _, err := o.Pin(
				t.Context(),
				bad,
				true,
			); err == nil ||
				!strings.Contains(err.Error(), "is not a trace ID") {
				t.Errorf("%q: %v", bad, err)
			}
		}
		if _, err := o.Pin(t.Context(), "ffffffff", true); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an absent trace: %v", err)
		}
	})
}

func TestSocket(t *testing.T) {
	for name, dataDir := range map[string]string{
		"short": t.TempDir(), "long": filepath.Join(t.TempDir(), strings.Repeat("long", 40)),
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t, dataDir)
			if _, err := maintenance.Dial(t.Context(), dir); !errors.Is(err, maintenance.ErrNoServer) {
				t.Errorf("without a server: %v", err)
			}
			// A killed server leaves its socket.
			killed, err := maintenance.Listen(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			end := serve(t, dir, open(t, dir))
			info, err := os.Stat(datadir.Socket(dir))
			if err != nil || info.Mode() != fs.ModeSocket|0o600 {
				t.Errorf("%v, %v", info, err)
			}
			c, err := maintenance.Dial(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, all := export(t, c, maintenance.Filter{}); len(all) != 2 {
				t.Errorf("%d traces", len(all))
			}
			if _, err := maintenance.Open(t.Context(), dir, false); !errors.Is(err, store.ErrInUse) {
				t.Errorf("beside a server: %v", err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			end()
			for _, left := range []string{datadir.Socket(dir), datadir.Socket(dir) + ".new"} {
				if _, err := os.Lstat(left); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s is left: %v", left, err)
				}
			}
			if _, err := maintenance.Dial(t.Context(), dir); !errors.Is(err, maintenance.ErrNoServer) {
				t.Errorf("after the end: %v", err)
			}
			_ = killed.Close()
		})
	}
}

func TestStaleSocket(t *testing.T) {
	dir := filled(t, t.TempDir())
	ln, err := maintenance.Listen(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	path := datadir.Socket(dir)
	if err := os.Rename(path, path+".kept"); err != nil {
		t.Fatal(err)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".kept", path); err != nil {
		t.Fatal(err)
	}
	o, err := maintenance.Connect(t.Context(), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpen(t *testing.T) {
	empty := t.TempDir()
	if _, err := maintenance.Open(t.Context(), empty, false); !errors.Is(err, maintenance.ErrNoArchive) {
		t.Errorf("without an archive: %v", err)
	}
	for _, file := range []func(string) string{datadir.Archive, datadir.Journal} {
		dir := filled(t, t.TempDir())
		if err := os.WriteFile(file(dir), bytes.Repeat([]byte("damaged!"), 1000), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := maintenance.Open(
			t.Context(),
			dir,
			false,
		); err == nil ||
			!strings.Contains(err.Error(), "damaged") &&
				!errors.Is(err, store.ErrForeign) {
			t.Errorf("a damaged %s: %v", file(dir), err)
		}
	}
}

// TestForgetDuringSalvage: while traces of a damaged archive are copied back, nothing is removed: the
// copy would undo it.
func TestForgetDuringSalvage(t *testing.T) {
	dir := filled(t, t.TempDir())
	l := open(t, dir)
	aside := datadir.Archive(dir) + ".damaged-20260301T120000.000000000Z"
	if err := os.WriteFile(aside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := l.Forget(t.Context(), "shop")
	if err == nil || !strings.Contains(err.Error(), "nothing was removed") || !strings.Contains(err.Error(), aside) {
		t.Errorf("got %v", err)
	}
	if _, err := database.MarkDone(aside); err != nil {
		t.Fatal(err)
	}
	if out, err := l.Forget(t.Context(), "shop"); err != nil || out.Traces != 1 {
		t.Errorf("after the salvage: %+v, %v", out, err)
	}
}

// withdrawn is an outbox.
type withdrawn []uint64

func (w *withdrawn) Withdraw(_ context.Context, seqs []uint64) error {
	*w = append(*w, seqs...)
	return nil
}

// TestForgetUnsent: the outbox of a server has read the entries perhaps, and drops them.
func TestForgetUnsent(t *testing.T) {
	l := open(t, filled(t, t.TempDir()))
	var got withdrawn
	l.Outbox = &got
	if out, err := l.Forget(t.Context(), "shop"); err != nil || out.Unsent != 2 || len(got) != 2 {
		t.Errorf("%+v, %v; withdrawn are %v", out, err, got)
	}
}

// TestOpenDamaged: a damage that only a write finds ends the opening. The file stays, for a server.
func TestOpenDamaged(t *testing.T) {
	dir := filled(t, t.TempDir())
	j, err := journal.Open(t.Context(), datadir.Journal(dir))
	if err != nil {
		t.Fatal(err)
	}
	longer := in("other", "db", 2000) // a second version
	e := &journal.Entry{Item: journal.Item{For: journal.Archive}, Trace: longer}
	err = j.Commit(t.Context(), &journal.Changes{AsOf: spantest.Epoch.Add(2 * time.Hour), Entries: []*journal.Entry{e}})
	if err = errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	const hide = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = "
	for _, query := range []string{ // the indexes get other rows than their table
		hide + "replace(sql, 'WHERE phase', 'WHERE 7 < phase') WHERE name LIKE 'traces\\_%' ESCAPE '\\'",
		"UPDATE traces SET start = start + 1",
		hide + "replace(sql, '7 < ', '')",
	} {
		db, err := sql.Open("sqlite", datadir.Archive(dir))
		if err == nil {
			_, err = db.ExecContext(t.Context(), query)
		}
		if err = errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := maintenance.Open(ctx, dir, false); !errors.Is(err, store.ErrDamaged) || ctx.Err() != nil {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(datadir.Archive(dir)); err != nil {
		t.Error(err)
	}
}
