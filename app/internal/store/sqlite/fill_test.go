// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/store/storetest"
)

// asFiller makes the test program fill the derived tables of the archive at that path.
const asFiller = "LIFELINE_TEST_ARCHIVE"

// fillOn opens the archive and waits until its derived tables are filled. It prints a line at the
// beginning.
func fillOn(path string) error {
	s, err := sqlite.Open(context.Background(), store.Config{Path: path})
	if err != nil {
		return err
	}
	fmt.Println("open")
	if filled := s.Filled(); filled != nil {
		<-filled
	}
	return s.Close()
}

// withoutFacts returns n traces without the data that earlier versions lacked.
func withoutFacts(n int) []*span.Trace {
	h := storetest.Year(n)
	out := make([]*span.Trace, n)
	for i := range out {
		out[i] = h.Trace(i)
		for _, s := range out[i].Spans {
			s.Facts = nil
			for j := range s.Events {
				if e := &s.Events[j]; e.Name == span.EventWrite {
					e.Attributes = append(e.Attributes, span.KeyAuditID.String(fmt.Sprint("audit-", i)))
				}
			}
		}
	}
	return out
}

// withoutLaterColumns removes the columns that the version with lifecycles lacked.
var withoutLaterColumns = []string{
	"ALTER TABLE writes DROP COLUMN based_on", "ALTER TABLE writes DROP COLUMN audit_id",
	"ALTER TABLE writes DROP COLUMN changes", "ALTER TABLE writes DROP COLUMN more_changes",
	"ALTER TABLE traces DROP COLUMN work",
}

// withoutNodes removes the columns that were added to the lifecycles later.
var withoutNodes = []string{
	"ALTER TABLE lifecycles DROP COLUMN region", "ALTER TABLE lifecycles DROP COLUMN instance_type",
	"ALTER TABLE lifecycles DROP COLUMN runtime",
}

// earlier returns the path of an archive of the version before lifecycles, with these traces.
func earlier(t testing.TB, traces []*span.Trace) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lifeline.db")
	s, err := sqlite.Open(t.Context(), store.Config{Path: path})
	must(t, err)
	for i := 0; i < len(traces); i += 100 {
		b := &store.Batch{
			Revision: int64(i + 1), AsOf: spantest.Epoch, Finished: traces[i:min(i+100, len(traces))],
		}
		must(t, s.Write(t.Context(), b))
	}
	must(t, s.Close())
	db, err := sql.Open("sqlite", path)
	must(t, err)
	for _, query := range append([]string{
		"DROP TABLE lifecycles", "DROP TABLE lifecycle_images", "DROP TABLE lifecycle_labels", "DROP TABLE phases",
		"DROP TABLE span_index", "DROP TABLE operations", "ALTER TABLE spans DROP COLUMN facts",
		"DROP INDEX traces_underived", "ALTER TABLE traces DROP COLUMN derived",
		"PRAGMA user_version = 6",
	}, withoutLaterColumns...) {
		_, err := db.ExecContext(t.Context(), query)
		must(t, err)
	}
	must(t, db.Close())
	return path
}

// derived returns the number of traces with derived tables, beside the process with the archive.
func derived(t *testing.T, path string) int {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	must(t, err)
	var n int
	must(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM traces WHERE derived = 1").Scan(&n))
	must(t, db.Close())
	return n
}

// all returns all lifecycles, and what the page says of its completeness.
func all(t testing.TB, s *sqlite.Store) ([]store.Lifecycle, string) {
	t.Helper()
	var out []store.Lifecycle
	var incomplete string
	q := store.FindQuery{Limit: store.MaxPage}
	for {
		page, err := s.Find(t.Context(), q)
		must(t, err)
		out, incomplete = append(out, page.Lifecycles...), page.Incomplete
		if q.After = page.Next; q.After == "" {
			return out, incomplete
		}
	}
}

// TestFill: the lifecycles of an archive of an earlier version come in the background, while others
// write. A kill loses none of the work.
func TestFill(t *testing.T) {
	n := 1000 // with 110 spans each
	if testing.Short() {
		n = 150
	}
	traces := withoutFacts(n)
	path := earlier(t, traces)

	kills, before := 0, 0
	for ; kills < 3; kills++ {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), asFiller+"="+path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if _, err = out.Read(make([]byte, 8)); err != nil { // it is open
			t.Fatalf("the filler does not open the archive: %v, %v", err, cmd.Wait())
		}
		now := before
		for now == before { // until a further transaction is done
			time.Sleep(time.Millisecond)
			now = derived(t, path)
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		if before = derived(t, path); before >= n {
			t.Fatal("it was done before the kill: the test shows nothing")
		}
	}

	s := openAt(t, path)
	found, incomplete := all(t, s)
	left := strings.TrimPrefix(incomplete, "the archive of an earlier version is being read: ")
	if left == incomplete || len(found) == 0 {
		t.Errorf("after %d kills: %d lifecycles, %q", kills, len(found), incomplete)
	}
	t.Logf("after %d kills: %d of %d lifecycles; %s", kills, len(found), n*20, left)
	if len(found) < before*20 {
		t.Errorf("%d lifecycles of %d traces", len(found), before)
	}
	longest := time.Duration(0)
	later := storetest.History{Seed: 9, Start: spantest.Epoch, Every: time.Second, Pods: 3}
	for i := 0; ; i++ {
		one := later.Trace(i)
		traces = append(traces, one)
		began := time.Now()
		must(t, s.Write(t.Context(), &store.Batch{
			Revision: int64(10_000 + i), AsOf: spantest.Epoch, Finished: []*span.Trace{one},
		}))
		longest = max(longest, time.Since(began))
		select {
		case <-s.Filled():
		case <-time.After(20 * time.Millisecond):
			continue
		}
		break
	}
	t.Logf("the longest write took %s", longest)
	if longest > 2*time.Second {
		t.Errorf("a write took %s", longest)
	}

	fresh := openAt(t, filepath.Join(t.TempDir(), "fresh.db"))
	for i := 0; i < len(traces); i += 100 {
		b := &store.Batch{Revision: int64(i + 1), AsOf: spantest.Epoch, Finished: traces[i:min(i+100, len(traces))]}
		must(t, fresh.Write(t.Context(), b))
	}
	same(t, fresh, s)
	audited(t, s)
}

// audited checks that the writes of withoutFacts have their IDs of the audit log.
func audited(t *testing.T, s *sqlite.Store) {
	t.Helper()
	q := store.WriteQuery{Limit: store.MaxPage}
	for more := true; more; more = len(q.After) > 0 {
		page, err := s.Writes(t.Context(), q)
		must(t, err)
		for _, w := range page.Writes {
			if strings.HasPrefix(w.AuditID, "audit-") {
				return
			}
		}
		q.After = page.Next
	}
	t.Error("no write has an ID of the audit log")
}

// same compares the answers of two archives.
func same(t *testing.T, a, b *sqlite.Store) {
	t.Helper()
	want, _ := all(t, a)
	got, incomplete := all(t, b)
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || incomplete != "" || len(want) == 0 {
		t.Errorf("%q, -want +got:\n%.3000s", incomplete, d)
	}
	wantWrites, err := a.Writes(t.Context(), store.WriteQuery{Limit: store.MaxPage})
	must(t, err)
	gotWrites, err := b.Writes(t.Context(), store.WriteQuery{Limit: store.MaxPage})
	must(t, err)
	if d := cmp.Diff(wantWrites, gotWrites); d != "" || len(wantWrites.Writes) == 0 {
		t.Errorf("writes: -want +got:\n%.3000s", d)
	}
	for _, q := range []store.SpanQuery{{Limit: store.MaxPage}, {Operation: span.NamePull, Longer: 5 * time.Second}} {
		want, err := a.Search(t.Context(), q)
		must(t, err)
		got, err := b.Search(t.Context(), q)
		must(t, err)
		if d := cmp.Diff(want, got); d != "" || len(want) == 0 && q.Operation == "" {
			t.Errorf("search: -want +got:\n%.3000s", d)
		}
	}
}

// TestFillWithoutAuditIDs: the writes of the version with lifecycles get their IDs of the audit log, and
// its traces their kinds of work.
func TestFillWithoutAuditIDs(t *testing.T) {
	traces := withoutFacts(20)
	path := filepath.Join(t.TempDir(), "lifeline.db")
	s, err := sqlite.Open(t.Context(), store.Config{Path: path})
	must(t, err)
	must(t, s.Write(t.Context(), &store.Batch{Revision: 1, AsOf: spantest.Epoch, Finished: traces}))
	must(t, s.Close())
	db, err := sql.Open("sqlite", path)
	must(t, err)
	for _, query := range slices.Concat(withoutLaterColumns, withoutNodes, []string{"PRAGMA user_version = 7"}) {
		_, err := db.ExecContext(t.Context(), query)
		must(t, err)
	}
	must(t, db.Close())
	s = openAt(t, path)
	<-s.Filled()
	fresh := openAt(t, filepath.Join(t.TempDir(), "fresh.db"))
	must(t, fresh.Write(t.Context(), &store.Batch{Revision: 1, AsOf: spantest.Epoch, Finished: traces}))
	same(t, fresh, s)
	audited(t, s)
	var lists [2]*store.Page
	for i, s := range []*sqlite.Store{fresh, s} {
		lists[i], err = s.List(t.Context(), store.Query{})
		must(t, err)
	}
	if d := cmp.Diff(lists[0], lists[1]); d != "" || lists[0].Traces[0].Work == nil {
		t.Errorf("summaries: -want +got:\n%s", d)
	}
}

// TestFillNodes: lifecycles of an earlier version get the data about Nodes from the attributes of their
// spans.
func TestFillNodes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lifeline.db")
	s, err := sqlite.Open(t.Context(), store.Config{Path: path})
	must(t, err)
	b := spantest.New("node")
	pod := b.Add(nil, "reconcile Pod", "kubelet", spantest.Ref("", "Pod", "web-1"), 0, 100, span.KeyRegion.String("eu"),
		span.KeyInstanceType.String("m7i.large"), span.KeyRuntime.String("containerd"),
		span.KeyRuntimeVersion.String("2.3.7"))
	pod.Outcome, pod.Facts = span.Converged, &span.Facts{Verb: "create", Pod: &span.PodFacts{Node: "node-1"}}
	b.Trace.Outcome = span.Converged
	must(t, s.Write(t.Context(), &store.Batch{Revision: 1, AsOf: spantest.Epoch, Finished: []*span.Trace{b.Trace}}))
	must(t, s.Close())
	db, err := sql.Open("sqlite", path)
	must(t, err)
	for _, query := range append(slices.Clone(withoutNodes), "PRAGMA user_version = 9") {
		_, err := db.ExecContext(t.Context(), query)
		must(t, err)
	}
	must(t, db.Close())
	s = openAt(t, path)
	<-s.Filled()
	found, _ := all(t, s)
	if len(found) != 1 {
		t.Fatalf("%d lifecycles", len(found))
	}
	if l := found[0]; l.Text("region") != "eu" || l.Text("instance_type") != "m7i.large" || l.Text("runtime") != "containerd://2.3.7" {
		t.Errorf("the lifecycle has %v", l.Values)
	}
}

// TestFillFormer: traces of several versions and with amendments, of the last version with state.
func TestFillFormer(t *testing.T) {
	s := openAt(t, former(t))
	<-s.Filled()
	fresh := openAt(t, filepath.Join(t.TempDir(), "fresh.db"))
	page, err := s.List(t.Context(), store.Query{Limit: store.MaxPage})
	must(t, err)
	for _, sum := range page.Traces {
		batches, err := s.Batches(t.Context(), sum.ID)
		must(t, err)
		for _, b := range batches {
			must(t, fresh.Write(t.Context(), b))
		}
	}
	same(t, fresh, s)
}

// TestFillDamaged: a trace that cannot be read is left out.
func TestFillDamaged(t *testing.T) {
	traces := withoutFacts(20)
	path := earlier(t, traces)
	db, err := sql.Open("sqlite", path)
	must(t, err)
	for _, query := range []string{
		"UPDATE spans SET data = x'ff' WHERE trace = 7",
		"UPDATE traces SET spans = spans + 1 WHERE num = 3", // a wrong number does not matter
	} {
		_, err = db.ExecContext(t.Context(), query)
		must(t, err)
	}
	must(t, db.Close())
	s := openAt(t, path)
	<-s.Filled()
	if found, incomplete := all(t, s); len(found) != 19*20 || incomplete != "" {
		t.Errorf("%d lifecycles, %q", len(found), incomplete)
	}
}
