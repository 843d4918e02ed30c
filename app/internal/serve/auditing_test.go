// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/source/audit"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestAuditBeginsAtTheEnd: a server with a new store begins at the log's end, and
// remembers that before it has read anything: what is written while it is away is
// read by the next one.
func TestAuditBeginsAtTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	end, err := audit.End(path)
	if err != nil {
		t.Fatal(err)
	}
	st := openSQLite(t, filepath.Join(t.TempDir(), "a.db"))
	l, err := openLedger(t.Context(), func(context.Context) (store.Store, error) { return st, nil })
	if err != nil {
		t.Fatal(err)
	}
	s := &server{ledger: l}
	s.loop = &loop{in: make(chan item, 1), quit: make(chan struct{})}
	from, err := (&auditing{s: s}).from(t.Context(), path)
	if err != nil || from != end {
		t.Fatalf("begins at %v (%v), want %v", from, err, end)
	}
	i := <-s.loop.in
	if err := l.commit(t.Context(), &store.Batch{AsOf: time.Now(), State: map[string][]byte{i.mark[0]: []byte(i.mark[1])}}); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(path, []byte("{}\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if from, err := (&auditing{s: s}).from(t.Context(), path); err != nil || from != end {
		t.Errorf("the next server begins at %v (%v), want %v", from, err, end)
	}
	if again := <-s.loop.in; again.mark != i.mark {
		t.Errorf("it hands on %v, want %v", again.mark, i.mark)
	}
}
