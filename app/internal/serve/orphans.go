// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// orphanReason is what a trace says that nobody saw the end of.
const orphanReason = "its end was not seen: lifeline could not go on from where it had been"

// orphans are traces that a store has as open, and that a new engine does not
// know of, because the one that began them could not be restored. They wait
// until the cluster has been read: what is still under way comes up again, under
// the same ID. The rest ends, as far as it is known. The zero value has none.
type orphans struct {
	// since is when the cluster had been read; zero before.
	since  time.Time
	traces map[trace.TraceID]*span.Trace
}

// orphanWait is how long an orphan has to come up again.
const orphanWait = time.Minute

func (o *orphans) none() bool { return len(o.traces) == 0 }

// known says that the engine has the trace.
func (o *orphans) known(id trace.TraceID) { delete(o.traces, id) }

// adopt returns the orphans that have waited long enough, ended; those that
// still wait stay open in the store.
func (o *orphans) adopt(l *look, now time.Time) []*span.Trace {
	if o.none() {
		return nil
	}
	for _, t := range l.batch.Finished {
		o.known(t.ID)
	}
	if o.since.IsZero() || now.Sub(o.since) < orphanWait {
		for id, t := range o.traces {
			l.prints[id] = fingerprint(t)
		}
		return nil
	}
	ended := make([]*span.Trace, 0, len(o.traces))
	for _, t := range o.traces {
		ended = append(ended, t)
	}
	ended = span.EndOpen(ended, now)
	for _, t := range ended {
		t.Outcome, t.Reason = span.Unfinished, orphanReason
	}
	o.traces = nil
	return ended
}
