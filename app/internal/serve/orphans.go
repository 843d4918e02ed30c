// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// orphanReason is the reason of a trace whose end was not observed.
const orphanReason = "its end was not observed: lifeline could not restore its state"

// orphans are open traces of the store that a new engine does not have, because the saved engine
// could not be restored. They wait until the cluster is read: an active change then appears again
// under the same ID. The rest ends with its known spans. The zero value has none.
type orphans struct {
	// since is the time after the first lists; zero before.
	since  time.Time
	traces map[trace.TraceID]*span.Trace
}

// orphanWait is the time for an orphan to appear again.
const orphanWait = time.Minute

func (o *orphans) none() bool { return len(o.traces) == 0 }

// known removes a trace that the engine has.
func (o *orphans) known(id trace.TraceID) { delete(o.traces, id) }

// adopt ends and returns the orphans whose wait is over. The others stay open in the store.
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
