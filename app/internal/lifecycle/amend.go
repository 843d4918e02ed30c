// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// amendment is something that was learned of a reconciliation after its trace
// had been taken: it becomes a span of no length in that trace (rule L9).
type amendment struct {
	t     *timeline
	past  past
	key   string
	at    time.Time
	event span.Event
}

// lateState notes a version that is older than what is left of a taken trace,
// and reports whether it is.
func (e *Engine) lateState(t *timeline, o *observation.Observation) bool {
	if t.past == nil || !t.past.gone && (len(t.versions) == 0 || o.State.ResourceVersion >= t.versions[0].ResourceVersion) {
		return false
	}
	if t.past.gone && len(t.versions) > 0 && o.State.ResourceVersion == t.versions[0].ResourceVersion {
		return true // seen before
	}
	e.amend(t, "state/"+strconv.FormatUint(o.State.ResourceVersion, 10), o.Seen, span.Event{
		Time: o.Seen, Name: span.EventWrite,
		Attributes: []attribute.KeyValue{span.KeyRV.Int64(int64(o.State.ResourceVersion))}, //nolint:gosec // etcd revisions are int64
	})
	return true
}

// lateEvent notes a Kubernetes Event of the time before a trace was taken, and
// reports whether it is one.
func (e *Engine) lateEvent(t *timeline, o *observation.Observation) bool {
	if t.past == nil {
		return false
	}
	ev := e.shared.occurrence(o)
	at := ev.at().at()
	if at.IsZero() || !at.Before(t.past.activity) {
		return false
	}
	if o.Listed {
		return true // a list repeats what was seen and forgotten
	}
	e.amend(t, "event/"+o.Event.UID+"/"+strconv.FormatUint(o.Event.ResourceVersion, 10), at.Time, occurred(ev))
	return true
}

func (e *Engine) amend(t *timeline, key string, at time.Time, ev span.Event) {
	e.late = append(e.late, amendment{t: t, past: *t.past, key: key, at: at, event: ev})
}

// Amendments returns what was learned of traces after Take had handed them out,
// each once: a trace of the same ID for each, which holds only spans named
// "amend", of no length, under the spans that they add to (rule L9).
func (e *Engine) Amendments() []*span.Trace {
	var out []*span.Trace
	for _, a := range e.late {
		s := &span.Span{
			TraceID: a.past.line, Parent: a.past.span, ID: span.DeriveID(a.past.line, string(a.t.ref.UID), "amend", a.key),
			Name: "amend", Service: reconciler(a.t), Object: a.t.ref,
			Start: span.Time{Time: a.at, Source: span.TimeWatch}, End: span.Time{Time: a.at, Source: span.TimeWatch},
			Events: []span.Event{a.event},
		}
		i := slices.IndexFunc(out, func(t *span.Trace) bool { return t.ID == a.past.line })
		if i < 0 {
			i = len(out)
			out = append(out, &span.Trace{ID: a.past.line})
		}
		if !slices.ContainsFunc(out[i].Spans, func(known *span.Span) bool { return known.ID == s.ID }) {
			out[i].Spans = append(out[i].Spans, s)
		}
	}
	e.late = nil
	return out
}
