// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// filled returns a journal with data in both its file and its write-ahead log.
func filled(t *testing.T) *journal.Journal {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	must(t, os.Mkdir(dir, 0o700))
	j := openAt(t, filepath.Join(dir, "journal.db"))
	c := &journal.Changes{State: map[string][]byte{"engine": bytes.Repeat([]byte("state"), 20_000)}}
	for n := range 50 {
		c.Entries = append(c.Entries, entry(n, both))
	}
	commit(t, j, c)
	must(t, j.GiveBack(t.Context(), time.Time{})) // copies the write-ahead log to the file
	commit(t, j, &journal.Changes{State: map[string][]byte{"watch": []byte("5")}})
	if !j.Sound(t.Context(), 0) {
		t.Fatal("a new journal is not sound")
	}
	return j
}

// overwrite writes garbage over a part of a file; from and length are shares of it.
func overwrite(t *testing.T, path string, from, length float64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	size := float64(info.Size())
	_, err = f.WriteAt(bytes.Repeat([]byte("garbage!"), int(size*length/8)), int64(size*from))
	must(t, err)
}

// losses are faults in the files of an open journal.
var losses = map[string]func(t *testing.T, path string){
	"deleted": func(t *testing.T, path string) { t.Helper(); must(t, os.Remove(path)) },
	"all deleted": func(t *testing.T, path string) {
		t.Helper()
		for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
			must(t, os.Remove(path+suffix))
		}
	},
	"replaced": func(t *testing.T, path string) {
		t.Helper()
		must(t, os.WriteFile(path+".new", []byte("other"), 0o600))
		must(t, os.Rename(path+".new", path))
	},
	"overwritten":               func(t *testing.T, path string) { t.Helper(); overwrite(t, path, 0, 1) },
	"overwritten in the middle": func(t *testing.T, path string) { t.Helper(); overwrite(t, path, 0.25, 0.5) },
	"truncated":                 func(t *testing.T, path string) { t.Helper(); must(t, os.Truncate(path, 4096)) },
	"log deleted":               func(t *testing.T, path string) { t.Helper(); must(t, os.Remove(path+"-wal")) },
	"log overwritten":           func(t *testing.T, path string) { t.Helper(); overwrite(t, path+"-wal", 0, 1) },
	"log truncated":             func(t *testing.T, path string) { t.Helper(); must(t, os.Truncate(path+"-wal", 0)) },
}

// TestRenewed: a lost journal is replaced by an empty one, which the caller learns once. Numbers
// continue.
func TestRenewed(t *testing.T) {
	for name, lose := range losses {
		t.Run(name, func(t *testing.T) {
			j := filled(t)
			var why error
			var renewed int
			j.Renewed = func(reason error, o database.Opening) {
				why = reason
				renewed++
				if o.Version != 0 || o.SetAside != "" {
					t.Errorf("opened again: %+v", o)
				}
			}
			before := commit(t, j, &journal.Changes{})
			lose(t, j.Path())
			if j.Sound(t.Context(), 0) {
				t.Error("the lost journal is sound")
			}
			if err := j.Done(t.Context(), both, 1); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("a removal from the lost journal: %v", err)
			}
			e := entry(99, both)
			c := &journal.Changes{
				AsOf: spantest.Epoch, State: map[string][]byte{"a": {1}}, Entries: []*journal.Entry{e},
			}
			var lost *store.LostError
			if err := j.Commit(t.Context(), c); !errors.Is(err, journal.ErrRenewed) || !errors.As(err, &lost) ||
				!strings.HasPrefix(lost.File, j.Path()) {
				t.Fatalf("got %v", err)
			}
			if !errors.Is(why, store.ErrDamaged) || renewed != 1 || j.Renewals() != 1 || j.Sound(t.Context(), 0) ||
				!j.Sound(t.Context(), 1) {
				t.Errorf("%d renewals, because of %v", renewed, why)
			}
			if got := pending(t, j, both); len(got) != 0 {
				t.Errorf("entries %v wait", got)
			}
			if _, err := j.Read(t.Context(), 1); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("a lost entry: %v", err)
			}
			if states, err := j.States(t.Context(), ""); err != nil || len(states) != 0 {
				t.Errorf("state %v, %v", states, err)
			}
			wantKept(t, j, numbered(1).ID, false, false)
			if after := commit(t, j, c); after <= before || e.Seq != 51 || renewed != 1 {
				t.Errorf("revision %d, entry %d, %d renewals; the revision was %d", after, e.Seq, renewed, before)
			}
			must(t, j.Close())
			j = openAt(t, j.Path())
			if after := commit(t, j, &journal.Changes{}); after != c.Revision+1 || j.Renewals() != 0 {
				t.Errorf("revision %d came after %d", after, c.Revision)
			}
			if d := cmp.Diff([]uint64{51}, pending(t, j, both)); d != "" {
				t.Errorf("pending (-want +got):\n%s", d)
			}
		})
	}
}

// TestRenewedTwice: a second loss is reported again, also one before the first commit.
func TestRenewedTwice(t *testing.T) {
	j := filled(t)
	last := commit(t, j, &journal.Changes{})
	for n := range 3 {
		losses["all deleted"](t, j.Path())
		if err := j.Commit(
			t.Context(),
			&journal.Changes{},
		); !errors.Is(err, journal.ErrRenewed) ||
			j.Renewals() != n+1 {
			t.Fatalf("got %v after %d renewals", err, j.Renewals())
		}
		if n == 1 {
			continue
		}
		after := commit(t, j, &journal.Changes{})
		if after <= last {
			t.Errorf("revision %d came after %d", after, last)
		}
		last = after
	}
}

// TestNotRenewedYet: while no new file can be made, each Commit fails and reads fail. Then there is
// one renewal.
func TestNotRenewedYet(t *testing.T) {
	j := filled(t)
	dir := filepath.Dir(j.Path())
	must(t, os.Rename(dir, dir+".old"))
	must(t, os.Symlink("nowhere", dir)) // it cannot be made
	for range 2 {
		if err := j.Commit(t.Context(), &journal.Changes{}); err == nil || errors.Is(err, journal.ErrRenewed) {
			t.Fatalf("got %v", err)
		}
		if _, err := j.Read(t.Context(), 1); !errors.Is(err, store.ErrClosed) {
			t.Errorf("a read: %v", err)
		}
		if j.Sound(t.Context(), 0) {
			t.Error("the lost journal is sound")
		}
	}
	must(t, os.Remove(dir))
	if err := j.Commit(t.Context(), &journal.Changes{}); !errors.Is(err, journal.ErrRenewed) || j.Renewals() != 1 {
		t.Errorf("got %v after %d renewals", err, j.Renewals())
	}
	commit(t, j, &journal.Changes{})
}

// TestClosedWhileLost: a lost journal is closed and not replaced.
func TestClosedWhileLost(t *testing.T) {
	j := filled(t)
	dir := filepath.Dir(j.Path())
	must(t, os.Rename(dir, dir+".old"))
	must(t, os.Symlink("nowhere", dir)) // it cannot be made
	if err := j.Commit(t.Context(), &journal.Changes{}); err == nil {
		t.Fatal("a commit without a directory")
	}
	must(t, j.Close())
	must(t, os.Remove(dir))
	must(t, os.Mkdir(dir, 0o700))
	if err := j.Commit(t.Context(), &journal.Changes{}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if found, err := os.ReadDir(dir); err != nil || len(found) != 0 {
		t.Errorf("%v, %v", found, err)
	}
}

// TestRenewedWhileUsed loses the journal several times while other goroutines use it. Their calls may
// fail meanwhile, and succeed in the end.
func TestRenewedWhileUsed(t *testing.T) {
	j := filled(t)
	last := commit(t, j, &journal.Changes{})
	var all sync.WaitGroup
	ended := make(chan struct{})
	for range 2 {
		all.Go(func() {
			for {
				_, _ = consume(t.Context(), j, journal.Sender)
				j.Sound(t.Context(), j.Renewals())
				select {
				case <-ended:
					return
				default:
				}
			}
		})
	}
	const renewals = 5
	for n := 1; j.Renewals() < renewals; n++ {
		c := &journal.Changes{Entries: []*journal.Entry{entry(n, both)}}
		c.State = map[string][]byte{"n": fmt.Append(nil, n)}
		if err := j.Commit(t.Context(), c); errors.Is(err, journal.ErrRenewed) {
			continue
		} else if err != nil || c.Revision <= last {
			t.Fatalf("revision %d came after %d, %v", c.Revision, last, err)
		}
		last = c.Revision
		if n%10 == 0 {
			must(t, os.Remove(j.Path()))
		}
	}
	close(ended)
	all.Wait()
	commit(t, j, &journal.Changes{Entries: []*journal.Entry{entry(1, both)}})
	for _, by := range []journal.Consumer{journal.Archive, journal.Sender} {
		must(t, j.Done(t.Context(), by, pending(t, j, by)...))
	}
	if left := pending(t, j, both); len(left) != 0 || j.Renewals() != renewals {
		t.Errorf("%v wait after %d renewals", left, j.Renewals())
	}
}

// TestDamagedAtOpen: a damaged file is set aside. Revisions continue.
func TestDamagedAtOpen(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, path string){
		"overwritten":   func(t *testing.T, path string) { t.Helper(); overwrite(t, path, 0, 1) },
		"in the middle": func(t *testing.T, path string) { t.Helper(); overwrite(t, path, 0.25, 0.5) },
		"truncated":     func(t *testing.T, path string) { t.Helper(); must(t, os.Truncate(path, 5000)) },
		"text": func(t *testing.T, path string) {
			t.Helper()
			must(t, os.WriteFile(path, []byte("no database at all"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := filled(t)
			before := commit(t, j, &journal.Changes{})
			must(t, j.Close())
			damage(t, j.Path())
			j = openAt(t, j.Path())
			o := j.Opening()
			if !strings.HasPrefix(o.SetAside, j.Path()+".damaged-") || !errors.Is(o.Why, store.ErrDamaged) {
				t.Errorf("opened: %+v", o)
			}
			if _, err := os.Stat(o.SetAside); err != nil {
				t.Error(err)
			}
			if got := pending(t, j, both); len(got) != 0 || !j.Sound(t.Context(), 0) {
				t.Errorf("entries %v wait", got)
			}
			e := entry(1, both)
			if after := commit(t, j, &journal.Changes{Entries: []*journal.Entry{e}}); after <= before {
				t.Errorf("revision %d came after %d", after, before)
			}
			must(t, j.Close())
			j = openAt(t, j.Path())
			if d := cmp.Diff([]uint64{e.Seq}, pending(t, j, both)); d != "" || j.Opening().SetAside != "" {
				t.Errorf("opened again: %+v; pending (-want +got):\n%s", j.Opening(), d)
			}
		})
	}
}

// TestNotOurs: a healthy file of another program or of a newer version is never moved.
func TestNotOurs(t *testing.T) {
	newer := func(t *testing.T, path string) {
		t.Helper()
		openClose(t, path)
		execute(t, path, "PRAGMA user_version = 99")
	}
	for name, tc := range map[string]struct {
		reason string
		create func(t *testing.T, path string)
		want   error
	}{
		"foreign": {"another program needs it", func(t *testing.T, path string) {
			t.Helper()
			execute(t, path, "CREATE TABLE bookmarks (x)")
		}, store.ErrForeign},
		"archive": {"the archive has another kind of file", func(t *testing.T, path string) {
			t.Helper()
			execute(t, path, "CREATE TABLE traces (x); PRAGMA application_id = 1281780846; PRAGMA user_version = 1")
		}, store.ErrForeign},
		"newer": {"an older version would harm it", newer, store.ErrNewer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			path := filepath.Join(t.TempDir(), "x.db")
			tc.create(t, path)
			for range 2 { // the lock is free again
				if _, err := journal.Open(t.Context(), path); !errors.Is(err, tc.want) ||
					!strings.Contains(err.Error(), path) {
					t.Errorf("got %v", err)
				}
			}
			if found, _ := filepath.Glob(path + ".damaged*"); len(found) > 0 {
				t.Errorf("was moved to %v", found)
			}
		})
	}
}

func openClose(t *testing.T, path string) {
	t.Helper()
	j, err := journal.Open(t.Context(), path)
	must(t, err)
	must(t, j.Close())
}

func execute(t *testing.T, path, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = db.ExecContext(t.Context(), query)
	must(t, errors.Join(err, db.Close()))
}

func TestCannotOpen(t *testing.T) {
	dir := t.TempDir()
	for name, path := range map[string]string{"no directory": filepath.Join(dir, "none", "x.db"), "a directory": dir} {
		if _, err := journal.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	j := filled(t)
	if _, err := journal.Open(t.Context(), j.Path()); !errors.Is(err, store.ErrInUse) {
		t.Errorf("a second opener: %v", err)
	}
	commit(t, j, &journal.Changes{})
}

// TestRenewedByAnother: if the Commit of one caller has replaced a lost journal, another caller that
// has not seen it gets ErrRenewed, too, and its changes are not in the empty journal.
func TestRenewedByAnother(t *testing.T) {
	j := filled(t)
	seen := j.Renewals()
	must(t, os.Remove(j.Path()))
	if err := j.Commit(t.Context(), &journal.Changes{}); !errors.Is(err, journal.ErrRenewed) {
		t.Fatalf("the first caller got %v", err)
	}
	part := &journal.Changes{Renewals: &seen, State: map[string][]byte{"part": {1}}}
	if err := j.Commit(t.Context(), part); !errors.Is(err, journal.ErrRenewed) {
		t.Errorf("the second caller got %v", err)
	}
	if _, err := j.State(t.Context(), "part"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a part of its state is stored: %v", err)
	}
	seen = j.Renewals()
	commit(t, j, part)
}

// TestHiddenDamage: an index has other rows than its table, which the check of a file does not find. The first report
// opens the file again, and the second one replaces it.
func TestHiddenDamage(t *testing.T) {
	j := filled(t)
	one := entry(1, both) // its trace is on the list of kept ones
	must(t, j.Close())
	const list = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = "
	execute(t, j.Path(), list+"sql || ' WHERE at < 0' WHERE name = 'kept_at'")
	execute(t, j.Path(), "UPDATE kept SET at = at + 1") // the index stays
	execute(t, j.Path(), list+"replace(sql, ' WHERE at < 0', '') WHERE name = 'kept_at'")
	j = openAt(t, j.Path())
	if j.Opening().SetAside != "" {
		t.Fatalf("the check finds it: %+v", j.Opening())
	}
	for n, aside := range []bool{false, true} {
		err := j.Commit(t.Context(), &journal.Changes{AsOf: one.AsOf.Add(time.Hour), Entries: []*journal.Entry{one}})
		if !errors.Is(err, journal.ErrRenewed) || !errors.Is(err, store.ErrDamaged) || j.Renewals() != n+1 {
			t.Fatalf("%d: got %v after %d renewals", n, err, j.Renewals())
		}
		if o := j.Opening(); (o.SetAside != "") != aside {
			t.Errorf("report %d: the file was set aside as %q", n+1, o.SetAside)
		}
	}
	commit(t, j, &journal.Changes{Entries: []*journal.Entry{one}})
}
