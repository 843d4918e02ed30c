// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// inputs is the state of the stored inputs.
type inputs struct {
	first, next uint64
	bytes       int
	// saved is the size of the saved engine.
	saved int
}

// look is one Commit of the journal and its bookkeeping.
type look struct {
	*journal.Changes
	// finished are the finished traces before sampling; the kept ones are entries of the log.
	finished []*span.Trace
	// open are all kept open traces, and prints their fingerprints. changed are those that differ
	// from the last look, and withdrawn those that were open and are now neither open nor finished.
	open      []*span.Trace
	prints    map[trace.TraceID]uint64
	changed   []*span.Trace
	withdrawn []trace.TraceID
	inputs    inputs
	// again counts the entries at the beginning that an earlier look had: the journal was lost.
	again int
	// took is the duration of its preparation.
	took time.Duration
	// seen counts its observations, and first is the earliest of their times.
	seen  int
	first time.Time
}

// fresh returns the entries of this look.
func (l *look) fresh() []*journal.Entry { return l.Entries[l.again:] }

// kept returns the finished traces, or the amendments, in the log.
func (l *look) kept(amendments bool) []*span.Trace {
	var out []*span.Trace
	for _, e := range l.fresh() {
		if e.Amends == amendments {
			out = append(out, e.Trace)
		}
	}
	return out
}

// show adds one open trace. It has changed if its fingerprint was another one at the last look.
func (l *look) show(t *span.Trace, looks uint64, was map[trace.TraceID]uint64) {
	l.open = append(l.open, t)
	l.prints[t.ID] = looks
	if before, shown := was[t.ID]; !shown || before != looks {
		l.changed = append(l.changed, t)
	}
}

// withdraw finds the traces that were open, and are now neither open nor finished.
func (l *look) withdraw(was map[trace.TraceID]uint64) {
	finished := map[trace.TraceID]bool{}
	for _, t := range l.kept(false) {
		finished[t.ID] = true
	}
	for id := range was {
		if _, open := l.prints[id]; !open && !finished[id] {
			l.withdrawn = append(l.withdrawn, id)
		}
	}
}
