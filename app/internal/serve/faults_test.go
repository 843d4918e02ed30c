// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/filelock"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// startedStorage is the storage of a server as it is configured, with its delivery, without a cluster.
type startedStorage struct {
	*storage
	server     *server
	options    *storageOptions
	delivery   *delivery
	publishing *publishing
}

// startStorage starts the storage of a server.
func startStorage(
	ctx context.Context, conf *config.ServerConfiguration, cluster string, log io.Writer,
) (*startedStorage, error) {
	s, err := newServer(Options{Config: conf, Log: log})
	if err != nil {
		return nil, err
	}
	out := &startedStorage{server: s, options: s.storageOptions(conf, cluster, newJoining(conf, s.joined))}
	if out.storage, err = openStorage(ctx, out.options); err != nil {
		return nil, err
	}
	if err := out.storage.Start(ctx); err != nil {
		return nil, err
	}
	out.delivery = newDelivery(conf, cluster, out.journal, out.clock.Now, s.log)
	if err := out.delivery.Start(ctx); err != nil {
		return nil, errors.Join(err, out.storage.Stop())
	}
	out.publishing = &publishing{
		view: out.view, consumers: []consumer{out.archive, out.delivery.outbox}, hub: &s.hub,
		progress: s.progress, metrics: s.metrics.loop, now: out.clock.Now,
	}
	out.recorder.Sends = func(*span.Trace) bool { return out.delivery.outbox.Wants() }
	out.recorder.Stored = out.publishing.stored
	return out, nil
}

// stop stops the delivery and the storage.
func (s *startedStorage) stop() error { return errors.Join(s.delivery.Stop(), s.storage.Stop()) }

// storedServer is the storage of a server in a test.
type storedServer struct {
	*startedStorage
	t    *testing.T
	log  *waitingLog
	r    *restored
	end  func()
	seen int // the traces so far
}

// startStored starts the storage of a server in a data directory.
func startStored(t *testing.T, data string) *storedServer {
	t.Helper()
	conf := config.Default()
	conf.DataDir = data
	p := &storedServer{t: t, log: newWaitingLog()}
	var err error
	p.startedStorage, err = startStorage(t.Context(), conf, "c", p.log)
	must(t, err)
	p.r = p.recorder
	p.end = sync.OnceFunc(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(p.end)
	return p
}

// finish stores a look with a finished trace. It must succeed, whatever state the archive is in.
func (p *storedServer) finish() trace.TraceID {
	p.t.Helper()
	p.seen++
	b := spantest.New(fmt.Sprint("trace ", p.seen, time.Now().UnixNano()))
	b.Deployment(nil, p.seen, p.seen+100)
	now := p.clock.Now()
	l := &look{Changes: &journal.Changes{AsOf: now, State: map[string][]byte{}}}
	p.r.finish(l, []*span.Trace{b.Trace}, now)
	must(p.t, p.r.journal.Commit(p.t.Context(), l.Changes))
	p.publishing.stored(l)
	return b.Trace.ID
}

// look looks until it succeeds, at most three times.
func (p *storedServer) look() {
	p.t.Helper()
	var err error
	for range 3 {
		if err = p.r.look(p.t.Context(), p.clock.Now()); err == nil {
			return
		}
		p.server.progress.looked(err)
		p.server.progress.troubled(err)
	}
	p.t.Errorf("cannot store: %v", err)
}

// until waits until ready returns true. It asks again and again, since the files of a server give no signal.
func (p *storedServer) until(otherwise string, ready func() bool) {
	p.t.Helper()
	for late := time.Now().Add(time.Minute); !ready(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			p.t.Fatalf("after a minute %s: %+v\n%s", otherwise, p.archive.Stats(), p.log)
		}
	}
}

// archivedAll waits until nothing waits for the archive, and checks that it has the traces.
func (p *storedServer) archivedAll(ids ...trace.TraceID) {
	p.t.Helper()
	var a store.Archive
	p.until("entries wait for the archive, or it is not open", func() bool {
		var err error
		a, err = p.archive.Archive() // after a report of damage it is opened again
		return err == nil && p.archive.Stats().Entries == 0
	})
	for _, id := range ids {
		if _, err := a.Trace(p.t.Context(), store.Scope{}, id); err != nil {
			p.t.Errorf("trace %s: %v", id, err)
		}
	}
	if n := p.archive.Stats().Dropped; n > 0 {
		p.t.Errorf("%d spans were dropped", n)
	}
}

// waitsFor checks that traces wait and that readers find it, and that health says so.
func (p *storedServer) waitsFor(ids ...trace.TraceID) {
	p.t.Helper()
	for _, id := range ids {
		if _, err := p.view.Trace(p.t.Context(), store.Scope{}, id); err != nil {
			p.t.Errorf("a waiting trace: %v", err)
		}
	}
	if n := p.archive.Stats().Entries; n != len(ids) {
		p.t.Errorf("%d entries wait, want %d", n, len(ids))
	}
	if err := p.opener.check(); err == nil || !strings.Contains(err.Error(), "finished traces wait in the journal") {
		p.t.Errorf("health says %v", err)
	}
}

// lines checks that the log has exactly one line that matches each pattern, and no other error.
func (p *storedServer) lines(patterns ...string) {
	p.t.Helper()
	text := p.log.String()
	var matched int
	for _, pattern := range patterns {
		n := 0
		for line := range strings.Lines(text) {
			if regexp.MustCompile(pattern).MatchString(line) {
				n++
				if strings.Contains(line, "level=ERROR") {
					matched++
				}
			}
		}
		if n != 1 {
			p.t.Errorf("%d lines match %s:\n%s", n, pattern, text)
		}
	}
	if n := strings.Count(text, "level=ERROR"); n != matched {
		p.t.Errorf("%d errors are in the log, want %d:\n%s", n, matched, text)
	}
}

// filled makes a data directory whose archive has one trace.
func filled(t *testing.T) (data string, id trace.TraceID) {
	t.Helper()
	data = t.TempDir()
	p := startStored(t, data)
	p.look()
	id = p.finish()
	p.archivedAll(id)
	p.end()
	return data, id
}

// newer makes a database one of a newer version.
func newer(t *testing.T, path string) {
	t.Helper()
	change(t, path, "PRAGMA user_version = 9999")
}

// foreign replaces a database by one of another program.
func foreignDatabase(t *testing.T, path string) {
	t.Helper()
	must(t, os.Remove(path))
	change(t, path, "PRAGMA application_id = 7; CREATE TABLE t (a)")
}

func change(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = db.Exec(text)
	must(t, err)
	must(t, db.Close())
}

func damage(t *testing.T, path string) {
	t.Helper()
	must(t, os.WriteFile(path, bytes.Repeat([]byte("garbage!"), 4096), 0o600))
}

// replacedLine is the line of the log about a new archive beside a known journal.
const replacedLine = `level=ERROR msg="the archive is not that of the journal: it is new`

// TestArchiveFaultsAtStart: whatever the archive's file is at the start, the server observes, one
// sentence in the log names the fault and what to do, and finished traces wait until it is over.
func TestArchiveFaultsAtStart(t *testing.T) {
	var lock *os.File
	for name, tc := range map[string]struct {
		ruin func(t *testing.T, path string)
		mend func(t *testing.T, path string) // nil: the server needs no help
		want []string
		lost bool // the old traces are lost
	}{
		"damaged": {damage, nil, []string{
			`ERROR msg="the archive was damaged; it was set aside, and .* created" setAside=\S+lifeline.db.damaged-`,
		}, true},
		"deleted": {func(t *testing.T, path string) { must(t, os.Remove(path)) }, nil, []string{replacedLine}, true},
		"foreign": {
			foreignDatabase, func(t *testing.T, path string) { must(t, os.Rename(path, path+".other")) },
			[]string{
				`level=ERROR msg="cannot write to the archive; finished traces wait in the journal" ` +
					`error="cannot open archive \S+lifeline.db: it is a database of another program, or of lifeline ` +
					`before 0.1.0" do="move`,
				replacedLine,
				`level=INFO msg="the archive is writable again"`,
			},
			true,
		},
		"newer": {
			newer, func(t *testing.T, path string) { change(t, path, "PRAGMA user_version = 0") },
			[]string{
				`ERROR msg="cannot write to the archive; .* by a newer version of lifeline.*do="run a newer version`,
			},
			false,
		},
		"locked": {
			func(t *testing.T, path string) {
				f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
				must(t, err)
				must(t, filelock.Try(f))
				lock = f
			},
			func(t *testing.T, _ string) { must(t, lock.Close()) },
			[]string{
				`level=ERROR msg="cannot write to the archive; .* in use.*do="end the other process"`,
				`level=INFO msg="the archive is writable again"`,
			},
			false,
		},
		"a directory": {
			func(t *testing.T, path string) { must(t, os.Remove(path)); must(t, os.Mkdir(path, 0o700)) },
			func(t *testing.T, path string) { must(t, os.Remove(path)) },
			[]string{
				`level=ERROR msg="cannot write to the archive; finished traces wait in the journal"`,
				replacedLine,
				`level=INFO msg="the archive is writable again"`,
			},
			true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			data, old := filled(t)
			path := archiveFile(filepath.Join(data, "c"))
			tc.ruin(t, path)
			p := startStored(t, data)
			p.look()
			ids := []trace.TraceID{p.finish(), p.finish()}
			if tc.mend != nil {
				p.log.await(t, `(cannot write to the archive)`)
				p.waitsFor(ids...)
				if name == "newer" { // it needs another program: the log waits for the next start
					p.lines(tc.want...)
					p.end()
					change(t, path, fmt.Sprint("PRAGMA user_version = ", archiveVersion(t)))
					p = startStored(t, data)
					p.look()
					tc.want = nil
				} else {
					tc.mend(t, path)
				}
			}
			p.archivedAll(ids...)
			if tc.mend != nil && name != "newer" {
				p.log.await(t, `(the archive is writable again)`)
			}
			if _, err := p.view.Trace(t.Context(), store.Scope{}, old); (err != nil) != tc.lost {
				t.Errorf("the old trace: %v", err)
			}
			if err := p.opener.check(); err != nil {
				t.Errorf("health still says %v", err)
			}
			p.lines(tc.want...)
		})
	}
}

// archiveVersion returns the schema version of a new archive.
func archiveVersion(t *testing.T) int {
	t.Helper()
	path := filepath.Join(t.TempDir(), "new.db")
	emptyDatabase(t, path)
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	var version int
	must(t, db.QueryRow("PRAGMA user_version").Scan(&version))
	return version
}

// TestArchiveLostWhileOpen loses the archive of a running server. One sentence in the log names the
// file and the event, the observation continues, and later traces go to a new archive.
func TestArchiveLostWhileOpen(t *testing.T) {
	for name, tc := range waysToLose() {
		if name == "directory deleted" {
			continue // TestDirectoryDeleted
		}
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			p := startStored(t, t.TempDir())
			p.look()
			first := p.finish()
			p.archivedAll(first)
			path := archiveFile(p.dir)
			tc.lose(t, path)
			second := p.finish()
			p.log.await(t, `archive was lost (while) the server ran`)
			p.archivedAll(second)
			third := p.finish()
			p.look()
			p.archivedAll(second, third)
			what := `was (deleted|replaced by another file|overwritten)`
			p.lines(
				`ERROR msg="the archive was lost while the server ran; a new one begins" .*error="\S+lifeline.db\S* ` +
					what,
			)
			if err := p.server.losses.check(); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("readiness mentions %v", err)
			}
		})
	}
}

// TestDirectoryDeleted: with the whole directory, both files begin anew.
func TestDirectoryDeleted(t *testing.T) {
	p := startStored(t, t.TempDir())
	p.look()
	p.archivedAll(p.finish())
	must(t, os.RemoveAll(p.dir))
	p.r.save = true
	p.look()
	id := p.finish()
	p.log.await(t, `lost while the server ran.* (journal=\S+journal.db)`)
	p.log.await(t, `lost while the server ran.* (archive=\S+lifeline.db)`)
	p.archivedAll(id)
}

// TestJournalFaultsAtStart: a journal that cannot be used is set aside, one sentence in the log says
// so, and the archive stays.
func TestJournalFaultsAtStart(t *testing.T) {
	for name, tc := range map[string]struct {
		ruin func(t *testing.T, path string)
		want []string
	}{
		"damaged": {damage, []string{
			`ERROR msg="the journal was damaged; it was set aside, .* setAside=\S+journal.db.damaged-`,
		}},
		"foreign": {foreignDatabase, []string{
			`ERROR msg="the journal cannot be used; .* another program.* setAside=\S+journal.db.unusable-`,
		}},
		"deleted": {func(t *testing.T, path string) { must(t, os.Remove(path)) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			data, old := filled(t)
			tc.ruin(t, journalFile(filepath.Join(data, "c")))
			p := startStored(t, data)
			p.look()
			p.archivedAll(old, p.finish())
			p.lines(tc.want...)
		})
	}
}

// TestNewerJournal: a server does not start with the journal of a newer version, and leaves it alone. Its open and
// waiting traces would be lost otherwise.
func TestNewerJournal(t *testing.T) {
	data, _ := filled(t)
	path := journalFile(filepath.Join(data, "c"))
	newer(t, path)
	before, err := os.ReadFile(path)
	must(t, err)
	_, err = openStorage(t.Context(), &storageOptions{DataDir: data, Cluster: "c", Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), "docs/upgrade.md") {
		t.Errorf("got %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the journal has changed: %v", err)
	}
}

// TestJournalLostWhileOpen: traces that wait for the archive are in the new journal, and arrive. The
// archive is not touched.
func TestJournalLostWhileOpen(t *testing.T) {
	for name, tc := range waysToLose() {
		if name == "directory deleted" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			data, old := filled(t)
			path := archiveFile(filepath.Join(data, "c"))
			lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
			must(t, err)
			must(t, filelock.Try(lock))
			p := startStored(t, data)
			p.look()
			id := p.finish()
			p.log.await(t, `(cannot write to the archive)`)
			tc.lose(t, journalFile(p.dir))
			p.r.mark(auditState, "x")
			p.look()
			p.waitsFor(id)
			items, err := p.journal.Pending(t.Context(), journal.Archive)
			if err != nil || len(items) != 1 || items[0].TraceID != id {
				t.Errorf("the new journal has %v (%v)", items, err)
			}
			must(t, lock.Close())
			p.archivedAll(old, id)
			p.log.await(t, `(the archive is writable again)`)
			p.lines(
				`level=ERROR msg="the journal was lost while the server ran; a new one begins" .*error="\S+journal.db`,
				`level=ERROR msg="cannot write to the archive; .* in use`,
				`the archive is writable again`,
			)
			if _, err := p.view.List(t.Context(), store.Query{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHiddenDamage: indexes of the archive have other rows than their table, which the check of the
// file does not find. The second report replaces the file, and its traces come into the new one.
func TestHiddenDamage(t *testing.T) {
	data, id := filled(t)
	path := archiveFile(filepath.Join(data, "c"))
	const list = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'WHERE phase', "
	change(t, path, list+"'WHERE 7 < phase') WHERE name LIKE 'traces\\_%' ESCAPE '\\'")
	change(t, path, "UPDATE traces SET start = start + 1") // the indexes stay
	change(t, path, "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '7 < ', '')")
	p := startStored(t, data)
	p.look()
	<-p.archive.Opened()
	old, err := p.archive.Archive()
	must(t, err)
	p.archivedAll(id)
	retention := &retention{archive: p.archive, log: p.server.log}
	for range 2 {
		if err := retention.prune(t.Context(), store.Limits{Before: p.clock.Now().Add(time.Hour)}); err == nil {
			t.Fatal("there is no damage")
		}
		p.archivedAll(p.finish()) // the writer takes the report
		p.until("the reported archive is still in use", func() bool {
			now, err := p.archive.Archive()
			replaced := err == nil && now != old
			if replaced {
				old = now
			}
			return replaced
		})
	}
	stop := p.salvaging()
	if n := p.salvagedSome([]trace.TraceID{id}); n != 1 {
		t.Errorf("%d of 1 trace is in the new archive", n)
	}
	stop()
	p.lines(
		`level=WARN msg="the archive was reported as damaged, but a check finds nothing; .*malformed`,
		`level=ERROR msg="the archive was lost while the server ran; a new one begins" .*setAside=\S+damaged-`,
	)
}
