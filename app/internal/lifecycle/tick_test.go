// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// busy is an engine as a server has one: 15,000 objects have converged and 200
// are in a trace that is open. It gives the time, too.
func busy(tb testing.TB) (*Engine, []*observation.Observation) {
	tb.Helper()
	e, end := New(Options{Cluster: "bench"}), time.Time{}
	for n := range 15 {
		for _, o := range readThousand(tb) {
			e.Observe(copied(o, n))
			end = o.Seen
		}
		e.Take(end.Add(time.Minute))
	}
	known := map[string]bool{}
	var rest []*observation.Observation
	for _, o := range readThousand(tb) {
		o = copied(o, 20)
		if o.State == nil || len(known) == 200 && !known[string(o.State.UID)] {
			continue
		}
		known[string(o.State.UID)] = true
		if o.State.Pod != nil && o.State.Pod.Phase == "Running" {
			rest = append(rest, o)
			continue
		}
		e.Observe(o)
	}
	return e, rest
}

// BenchmarkTick does the periodic work of a server, twice a second: it takes the settled traces and
// reads the open ones.
func BenchmarkTick(b *testing.B) {
	e, rest := busy(b)
	now := e.last
	b.Logf("%d objects", len(e.index.Objects()))
	for _, quiet := range []bool{true, false} {
		name := "one write"
		if quiet {
			name = "nothing new"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(time.Millisecond)
				if !quiet {
					e.Observe(rest[0])
				}
				taken, open := e.Take(now), e.Traces(now)
				if len(taken) > 0 || len(open) != 1 {
					b.Fatalf("%d traces taken, %d open, want the open one", len(taken), len(open))
				}
			}
		})
	}
}

// TestDerivationHolds: frequent looks skip derivations while time changes nothing. The traces equal
// those of a derivation at each look.
func TestDerivationHolds(t *testing.T) {
	for name, seen := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sparing, anew := New(Options{Cluster: "test"}), New(Options{Cluster: "test"})
			look := func(now time.Time) {
				anew.groups.changeAll()
				want := given{Taken: anew.Take(now)}
				anew.groups.changeAll()
				want.Open = anew.Traces(now)
				if got := (given{Taken: sparing.Take(now), Open: sparing.Traces(now)}); !reflect.DeepEqual(want, got) {
					t.Fatalf("at %s: -derived each time +sparing:\n%s", now, cmp.Diff(want, got))
				}
			}
			now := seen[0].Seen
			for _, o := range seen {
				for ; now.Before(o.Seen); now = now.Add(500 * time.Millisecond) {
					look(now)
				}
				sparing.Observe(o)
				anew.Observe(o)
			}
			for step := time.Second; step < 3*time.Hour; step = step * 5 / 4 {
				look(now.Add(step))
			}
		})
	}
}

// TestDerivesOnce: nothing is derived again while nothing was observed and
// nothing can have ended.
func TestDerivesOnce(t *testing.T) {
	s := newStory()
	s.rollout()
	s.write("db", deployment(1))
	e := observe(s.seen)
	e.Take(s.now().Add(time.Minute)) // the first Deployment's
	e.Traces(s.now().Add(time.Minute))
	first := e.refresh(s.now().Add(time.Minute))[0].derived
	for at := time.Minute; at < 3*time.Minute; at += 10 * time.Second {
		e.Take(s.now().Add(at))
		if e.refresh(s.now().Add(at))[0].derived != first {
			t.Fatalf("derived again after %s", at)
		}
	}
	if taken := e.Take(s.now().Add(2 * time.Hour)); len(taken) != 1 {
		t.Errorf("%d traces were taken when patience had ended, want that of the second Deployment", len(taken))
	}
}
