// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// fuse ends the life of an Outbox after a number of protocol steps.
type fuse struct {
	mu    sync.Mutex
	left  int
	where string
	blow  func()
}

// burn returns errCrash from the fuse's step on.
func (f *fuse) burn(step string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left > 0 {
		return nil
	}
	if f.where == "" {
		f.where = step
		f.blow()
	}
	return errCrash
}

func (f *fuse) blown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.where != ""
}

// TestOutboxKilled kills the process at every protocol step: before and after each commit and each
// removal, and before and after the backend accepts a request. Committed spans arrive, others never do, and no
// entry stays.
func TestOutboxKilled(t *testing.T) {
	places := map[string]int{}
	seeds := uint64(20)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { killed(t, rand.New(rand.NewPCG(seed, 1)), places) })
	}
	t.Logf("killed at: %v", places)
	if len(places) < 7 && !testing.Short() {
		t.Errorf("killed at these steps only: %v", places)
	}
}

func killed(t *testing.T, random *rand.Rand, places map[string]int) {
	t.Helper()
	w, r := newWorld(t), newReceiver()
	l := listen(t, "127.0.0.1:0")
	f := &fuse{}
	var mu sync.Mutex // guards the receiver's decisions
	current := func() *fuse { mu.Lock(); defer mu.Unlock(); return f }
	r.answer = func(int) (ptraceotlp.ExportResponse, error) {
		if current().burn("arrived") != nil {
			return ptraceotlp.NewExportResponse(), status.Error(codes.Unavailable, "died")
		}
		return ptraceotlp.NewExportResponse(), nil
	}
	r.lose = func() bool { return current().burn("taken") != nil }
	serveHTTP(t, r, l)
	o := OutboxOptions{Options: Options{Endpoint: "http://" + l.Addr().String()}, linger: time.Millisecond}
	var committed []*span.Trace
	n := 0
	for life := range 6 {
		next := &fuse{left: 1 + random.IntN(14)}
		if life == 5 {
			next.left = 1 << 30
		}
		next.blow = func() { w.kill() }
		mu.Lock()
		f = next
		mu.Unlock()
		w.step = func(when string) error { return next.burn(when) }
		w.open(o)
		if life < 5 {
			for range 1 + random.IntN(4) {
				n++
				tr := small(fmt.Sprintf("t%d", n), 1+random.IntN(700))
				if putOne(w, next, entries(tr)[0]) {
					committed = append(committed, tr)
				}
				if len(committed) > 0 && random.IntN(3) == 0 {
					late := amend(committed[random.IntN(len(committed))], fmt.Sprint(n))
					if putOne(w, next, amendment(late)) {
						committed = append(committed, late)
					}
				}
			}
			w.until("delivered or dead", func(s OutboxStats) bool {
				return next.blown() || s.Entries+w.unremoved() == 0
			})
			places[next.where]++
			w.crash()
			continue
		}
		w.finish()
	}
	r.want(t, committed...)
	if left := w.left(); left != 0 {
		t.Errorf("%d entries are left", left)
	}
}

// putOne commits and adds an entry, and reports whether it was committed.
func putOne(w *world, f *fuse, e *journal.Entry) (committed bool) {
	w.t.Helper()
	if f.burn("before Commit") != nil {
		return false
	}
	items := w.commit(e)
	if f.burn("committed") != nil {
		return true
	}
	w.box.Add(items...)
	_ = f.burn("added")
	return true
}
