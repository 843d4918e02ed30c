// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// keep writes state names from first to last below prefix, or removes them.
func keep(t testing.TB, s store.Store, revision int64, prefix string, first, last int, value []byte) {
	t.Helper()
	b := &store.Batch{Revision: revision, AsOf: spantest.Epoch, State: map[string][]byte{}}
	for n := first; n < last; n++ {
		b.State[fmt.Sprintf("%s/%020d", prefix, n)] = value
	}
	if err := s.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// TestStateComesAndGoes is an outbox's life: entries are constantly added and removed, and some
// always wait. The file must not grow.
func TestStateComesAndGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lifeline.db")
	s := openAt(t, path)
	size := func() int64 {
		t.Helper()
		var total int64
		for _, suffix := range []string{"", "-wal"} {
			info, err := os.Stat(path + suffix)
			if err != nil {
				t.Fatal(err)
			}
			total += info.Size()
		}
		return total
	}
	const waiting, step = 5000, 500
	value := make([]byte, 30)
	var settled int64
	revision := int64(0)
	for n := 0; n < 200*step; n += step {
		revision++
		keep(t, s, revision, "outbox", n, n+step, value)
		if n >= waiting {
			revision++
			keep(t, s, revision, "outbox", n-waiting, n-waiting+step, nil)
		}
		if n == 60*step {
			settled = size()
		}
	}
	if last := size(); last > settled*5/4 {
		t.Errorf("the files grew from %d to %d bytes, with a constant amount of state", settled, last)
	}
	if _, err := s.Prune(t.Context(), store.Limits{}); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	revision++
	keep(t, s, revision, "outbox", 195*step-waiting, 200*step, nil)
	if _, err := s.Prune(t.Context(), store.Limits{}); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || after.Size() > before.Size()/2 {
		t.Errorf("%d bytes became %d, %v", before.Size(), after.Size(), err)
	}
}

// TestStatesOfAPrefix compares States with a filter by prefix.
func TestStatesOfAPrefix(t *testing.T) {
	s := open(t)
	names := []string{
		"",
		"a",
		"a/",
		"a/1",
		"a/\x00",
		"a/é",
		"a/\U0010ffff",
		"a/\xff",
		"a/\xff\xff",
		"a0",
		"b",
		"\xff",
		"\xff\xff1",
	}
	b := &store.Batch{Revision: 1, AsOf: spantest.Epoch, State: map[string][]byte{}}
	for _, name := range names {
		b.State[name] = []byte(name)
	}
	if err := s.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for _, prefix := range append(names, "a/\xc3", "zz") {
		want := map[string][]byte{}
		for _, name := range names {
			if strings.HasPrefix(name, prefix) {
				want[name] = []byte(name)
			}
		}
		got, err := s.States(t.Context(), prefix)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", prefix, err, d)
		}
	}
}

// BenchmarkStates reads a little state beside much other state.
func BenchmarkStates(b *testing.B) {
	s := open(b)
	const outbox, journal = 100_000, 10_000
	for n := range outbox / 1000 {
		keep(b, s, int64(n+1), "outbox", n*1000, (n+1)*1000, make([]byte, 30))
	}
	for n := range journal / 1000 {
		keep(b, s, int64(1000+n), "journal", n*1000, (n+1)*1000, make([]byte, 2000))
	}
	keep(b, s, 2000, "watch", 0, 10, make([]byte, 30))
	for prefix, want := range map[string]int{
		"outbox/":  outbox,
		"journal/": journal,
		"watch/":   10,
		"engine":   0,
		"a":        0,
	} {
		b.Run(prefix, func(b *testing.B) {
			for b.Loop() {
				if got, err := s.States(b.Context(), prefix); err != nil || len(got) != want {
					b.Fatalf("got %d, %v", len(got), err)
				}
			}
		})
	}
	b.Run("remove1000", func(b *testing.B) {
		revision := int64(3000)
		for b.Loop() {
			keep(b, s, revision, "outbox", 0, 1000, nil)
			b.StopTimer()
			keep(b, s, revision+1, "outbox", 0, 1000, make([]byte, 30))
			revision += 2
			b.StartTimer()
		}
	})
	start := time.Now()
	for n := range outbox / 1000 {
		keep(b, s, int64(1_000_000+n), "outbox", n*1000, (n+1)*1000, nil)
	}
	b.Logf("all removed in %s", time.Since(start))
}
