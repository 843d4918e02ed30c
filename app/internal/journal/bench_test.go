// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// BenchmarkCommit measures a look: its chunk of observations, the positions of ten watches, and its
// finished traces of twelve spans. Twenty looks wait for the consumers, and a hundred chunks for the
// next saved engine.
func BenchmarkCommit(b *testing.B) {
	for name, look := range map[string]struct{ chunk, traces int }{
		"idle":  {chunk: 500},
		"calm":  {chunk: 5_000, traces: 2},
		"busy":  {chunk: 100_000, traces: 50},
		"storm": {chunk: 1_000_000, traces: 500},
	} {
		b.Run(name, func(b *testing.B) {
			j := open(b)
			chunk := make([]byte, look.chunk)
			random := rand.NewChaCha8([32]byte{})
			_, _ = random.Read(chunk)
			var commits, removals time.Duration
			n := 0
			for b.Loop() {
				n++
				b.StopTimer()
				c := &journal.Changes{
					AsOf:  spantest.Epoch.Add(time.Duration(n) * time.Second),
					State: map[string][]byte{},
				}
				for i := range 10 {
					c.State[fmt.Sprint("watch/", i)] = fmt.Append(nil, n)
				}
				c.State[fmt.Sprintf("journal/%020d", n)] = chunk
				c.State[fmt.Sprintf("journal/%020d", n-100)] = nil
				for i := range look.traces {
					c.Entries = append(c.Entries, &journal.Entry{
						Item: journal.Item{For: both}, Trace: rollout(n*look.traces + i),
					})
				}
				b.StartTimer()
				began := time.Now()
				commit(b, j, c)
				commits += time.Since(began)
				began = time.Now()
				var seqs []uint64
				for _, e := range c.Entries {
					if lag := uint64(20 * look.traces); e.Seq > lag {
						seqs = append(seqs, e.Seq-lag)
					}
				}
				must(b, j.Done(b.Context(), journal.Archive, seqs...))
				must(b, j.Done(b.Context(), journal.Sender, seqs...))
				removals += time.Since(began)
			}
			b.ReportMetric(commits.Seconds()*1e6/float64(n), "µs/commit")
			b.ReportMetric(removals.Seconds()*1e6/float64(n), "µs/removal")
			used, err := j.Used(b.Context())
			must(b, err)
			b.ReportMetric(float64(used)/1024, "KiB")
		})
	}
}

// rollout returns a trace of a change of a Deployment, with an ID of its own.
func rollout(n int) *span.Trace {
	tr := spantest.Rollout()
	tr.ID = span.DeriveTraceID("rollout", fmt.Sprint(n))
	for _, s := range tr.Spans {
		s.TraceID = tr.ID
	}
	return tr
}

// BenchmarkRead reads one of 10,000 entries.
func BenchmarkRead(b *testing.B) {
	j := open(b)
	for n := range 100 {
		c := &journal.Changes{}
		for i := range 100 {
			c.Entries = append(c.Entries, &journal.Entry{Item: journal.Item{For: both}, Trace: rollout(n*100 + i)})
		}
		commit(b, j, c)
	}
	n := uint64(0)
	for b.Loop() {
		if _, err := j.Read(b.Context(), 1+n*7%10_000); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

// BenchmarkStates reads a little state beside much other state.
func BenchmarkStates(b *testing.B) {
	j := open(b)
	for n := range 100 {
		c := &journal.Changes{State: map[string][]byte{"watch/" + fmt.Sprint(n): make([]byte, 30)}}
		for i := range 100 {
			c.State[fmt.Sprintf("journal/%020d", n*100+i)] = make([]byte, 2000)
		}
		commit(b, j, c)
	}
	for prefix, want := range map[string]int{"journal/": 10_000, "watch/": 100, "engine": 0, "a": 0} {
		b.Run(prefix, func(b *testing.B) {
			for b.Loop() {
				if got, err := j.States(b.Context(), prefix); err != nil || len(got) != want {
					b.Fatalf("got %d, %v", len(got), err)
				}
			}
		})
	}
}
