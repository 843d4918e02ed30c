// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// heartbeats are n changes of an annotation of a recorded Deployment by one manager, so far apart.
func heartbeats(t *testing.T, n int, apart time.Duration) []*observation.Observation {
	t.Helper()
	var base *observation.Observation
	for _, o := range read(t, "testdata/several-people.kwok.jsonl.gz") {
		if o.State != nil && o.State.Kind.Kind == "Deployment" && slices.ContainsFunc(o.State.Leaves, isNote) {
			base = o
		}
	}
	first := *base
	first.Baseline, first.Listed = true, true
	out := []*observation.Observation{&first}
	for i := range n {
		o, s := *base, *base.State
		o.Seen = base.Seen.Add(time.Duration(i+1) * apart)
		s.ResourceVersion += uint64(10 * (i + 1))
		s.Leaves, s.Managers = slices.Clone(s.Leaves), slices.Clone(s.Managers)
		leaf := &s.Leaves[slices.IndexFunc(s.Leaves, isNote)]
		leaf.Value += uint64(i + 1)
		s.Managers[0].Name = "heart"
		leaf.Managers = 1
		o.State = &s
		out = append(out, &o)
	}
	return out
}

func isNote(l observation.Leaf) bool { return l.Path == "metadata.annotations.note" }

// TestSeries: a heartbeat in an annotation of a Deployment is four traces. All later ones are counted
// in the first. A restart at any time changes nothing.
func TestSeries(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		n             int
		apart         time.Duration
		traces, count int64
	}{
		"Few":    {"four alike changes are changes", 4, time.Second, 4, 0},
		"Many":   {"later ones are counted", 888, 10 * time.Second, 4, 884},
		"Seldom": {"a person who changes something twice an hour makes changes", 12, 30 * time.Minute, 12, 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := New(Options{Cluster: "test"})
			seen := heartbeats(t, tc.n, tc.apart)
			var traces, counted int64
			take := func(now time.Time) {
				traces += int64(len(e.Take(now)))
				for _, tr := range e.Amendments() {
					for _, s := range tr.Spans {
						counted += repeats(s)
					}
				}
			}
			at := seen[0].Seen
			for i, o := range seen {
				for ; at.Before(o.Seen); at = at.Add(5 * time.Second) {
					take(at)
				}
				e.Observe(o)
				if i%100 == 50 {
					e = restored(t, e)
				}
			}
			for end := at.Add(20 * time.Minute); at.Before(end); at = at.Add(5 * time.Second) {
				take(at)
			}
			if traces != tc.traces || counted != tc.count {
				t.Errorf("%s: %d traces and a count of %d, want %d and %d", tc.reason, traces, counted, tc.traces,
					tc.count)
			}
			if len(e.memory.series) > 0 {
				t.Error("the series is not forgotten after its end")
			}
		})
	}
}

func repeats(s *span.Span) int64 {
	n := int64(0)
	for _, e := range s.Events {
		for _, kv := range e.Attributes {
			if kv.Key == span.KeyRepeats {
				n += kv.Value.AsInt64()
			}
		}
	}
	return n
}

// TestWriteStats: each observed write has one fate.
func TestWriteStats(t *testing.T) {
	e, at := New(Options{Cluster: "test"}), time.Time{}
	seen := read(t, "testdata/several-people.kwok.jsonl.gz")
	seen = append(seen, heartbeats(t, 100, 10*time.Second)[1:]...)
	stored := map[[2]string]bool{}
	for _, o := range seen {
		switch {
		case o.State != nil:
			stored[[2]string{string(o.State.UID), string(rune(o.State.ResourceVersion))}] = true
		case o.Gone != nil:
			stored[[2]string{string(o.Gone.UID), "gone"}] = true
		}
		e.Observe(o)
		e.Observe(o)
		at = o.Seen
		e.Take(at)
	}
	for range 100 {
		at = at.Add(time.Minute)
		e.Take(at)
	}
	got := e.WriteStats()
	if got.Observed != uint64(len(stored)) {
		t.Errorf("%d writes were observed, want %d", got.Observed, len(stored))
	}
	if got.Held != 0 || got.Series != 96 || got.Traced == 0 || got.Step == 0 || got.Baseline == 0 {
		t.Errorf("got %+v", got)
	}
}

// TestWritesOfRecordings: each stored write of a recording is observed once, and in the end each has a fate.
func TestWritesOfRecordings(t *testing.T) {
	for name, seen := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			e, at := New(Options{Cluster: "test"}), seen[0].Seen
			look := func(until time.Time, step time.Duration) {
				for ; at.Before(until); at = at.Add(step) {
					e.Take(at)
					e.Amendments()
				}
			}
			writes := map[stored]bool{}
			for _, o := range seen {
				look(o.Seen, 500*time.Millisecond)
				e.Observe(o)
				switch {
				case o.State != nil:
					writes[stored{string(o.State.UID), o.State.ResourceVersion}] = true
				case o.Gone != nil:
					writes[stored{string(o.Gone.UID), 0}] = true // the removal
				}
			}
			look(at.Add(4*time.Hour), time.Minute)
			got := e.WriteStats()
			if want := uint64(len(writes)); got.Observed != want || got.Held != 0 {
				t.Errorf("got %+v, want %d observed and none held", got, want)
			}
		})
	}
}
