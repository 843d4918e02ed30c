// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// orphanReason is the reason of a trace whose end was not observed.
const orphanReason = "its end was not observed: lifeline could not restore its state"

// orphans are open traces of an earlier process that a new engine does not have, because the saved
// engine could not be restored. They wait until the cluster is read: an active change then appears again
// under the same ID. The rest ends with its known spans. The zero value has none.
type orphans struct {
	// since is the time after the first lists; zero before.
	since  time.Time
	traces map[trace.TraceID]*span.Trace
	// changed means that the stored orphans are others.
	changed bool
}

// orphanWait is the time for an orphan to appear again.
const orphanWait = time.Minute

func (o *orphans) none() bool { return len(o.traces) == 0 }

// known removes a trace that the engine has.
func (o *orphans) known(id trace.TraceID) {
	if o.traces[id] != nil {
		delete(o.traces, id)
		o.changed = true
	}
}

// add makes a trace an orphan.
func (o *orphans) add(t *span.Trace) {
	if o.traces == nil {
		o.traces = map[trace.TraceID]*span.Trace{}
	}
	o.traces[t.ID], o.changed = t, true
}

// adopt ends and returns the orphans whose wait is over. The others stay open.
func (o *orphans) adopt(l *look, now time.Time) []*span.Trace {
	if o.none() {
		return nil
	}
	for _, t := range l.finished {
		o.known(t.ID)
	}
	if o.since.IsZero() || now.Sub(o.since) < orphanWait {
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
	o.traces, o.changed = nil, true
	return ended
}

// show adds the orphans to the open traces of a look, and to its state if they have changed.
func (o *orphans) show(l *look, was map[trace.TraceID]uint64) {
	for _, t := range o.traces {
		l.show(t, fingerprint(t), was)
	}
	if o.changed {
		l.State[orphansState] = o.pack()
		o.changed = false
	}
}

// pack encodes the orphans; nil without any.
func (o *orphans) pack() []byte {
	if o.none() {
		return nil
	}
	return packTraces(slices.Collect(maps.Values(o.traces)))
}
