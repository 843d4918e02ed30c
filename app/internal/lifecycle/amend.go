// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// amendment is something that was learned of a reconciliation after its trace
// had been taken: it becomes a span of no length in that trace (rule L9).
type amendment struct {
	ref     object.Ref
	service string
	past    past
	key     string
	at      time.Time
	// rv is that of a version, and event nil; or event is an Event.
	rv    uint64
	event *event
	// write is a request of the audit log, and rv then 0.
	write *observation.Write
	// repeats is the number of writes of a series, of which rv is the last.
	repeats int64
}

// lateState notes a version that is older than what is left of a taken trace,
// and reports whether it is.
func (e *Engine) lateState(t *timeline, o *observation.Observation) bool {
	if t.past == nil && t.folded && o.State.ResourceVersion < t.versions[0].ResourceVersion {
		return true // older than all that is kept: it was seen, or no trace tells of it
	}
	if t.past == nil ||
		!t.past.gone && (len(t.versions) == 0 || o.State.ResourceVersion >= t.versions[0].ResourceVersion) {
		return false
	}
	if t.past.gone && len(t.versions) > 0 && o.State.ResourceVersion == t.versions[0].ResourceVersion {
		return true // seen before
	}
	if o.Listed {
		return true // who reads again from the past repeats what was seen and forgotten
	}
	e.amend(t, *t.past, amendment{
		key: "state/" + strconv.FormatUint(o.State.ResourceVersion, 10), at: o.Seen, rv: o.State.ResourceVersion,
	})
	return true
}

// lateAudit notes a request of the audit log that made what was taken, and
// reports whether it is one, or of before the observer began.
func (e *Engine) lateAudit(t *timeline, w *observation.Write, again bool) bool {
	switch {
	case t.past != nil && t.past.gone:
	case w.ResourceVersion == 0 && t.past != nil && len(t.versions) > 0 &&
		(w.Precondition > 0 && w.Precondition < t.versions[0].ResourceVersion || w.End.Before(t.past.activity)):
	case w.ResourceVersion == 0,
		len(t.versions) == 0,
		!t.versions[0].baseline,
		w.ResourceVersion > t.versions[0].ResourceVersion:
		return false
	}
	of := t.past != nil &&
		(w.ResourceVersion >= t.past.rv ||
			t.past.gone && t.past.verb == deleted && requestVerb(w) == deleted && w.UID != "")
	if again || !of || unnamed(w) {
		if !again {
			e.tally.Late++
		}
		return true
	}
	e.amend(t, *t.past, amendment{key: "audit/" + w.AuditID, at: w.Start, write: w})
	return true
}

// lateRefusal does the same for a refused request.
func (e *Engine) lateRefusal(t *timeline, w *observation.Write) bool {
	if t.past == nil || !w.Start.Before(t.past.activity) {
		return false
	}
	e.amend(t, *t.past, amendment{key: "audit/" + w.AuditID, at: w.Start, write: w})
	return true
}

// lateEvent notes a Kubernetes Event of the time before a trace was taken, and
// reports whether it is one.
func (e *Engine) lateEvent(t *timeline, o *observation.Observation) bool {
	if t.past == nil {
		return false
	}
	ev := e.shared.occurrence(o)
	at, of := ev.at().at(), t.past.of(ev)
	if of == nil {
		return true // of a reconciliation that nobody remembers
	}
	// Of one that another followed is all that came before that.
	if at.IsZero() || of == t.past && !at.Before(of.activity) || !e.beforeTaken(of.line, at.Time) {
		return false
	}
	if o.Listed && !o.Late {
		return true // a list repeats what was seen and forgotten
	}
	e.amend(t, *of, amendment{key: ev.key(), at: at.Time, event: ev})
	return true
}

// beforeTaken reports whether something happened while the trace was told of. What
// its objects do later is no part of it; and of one that was forgotten nothing
// comes so late.
func (e *Engine) beforeTaken(line trace.TraceID, at time.Time) bool {
	of, known := e.taken[line]
	return known && !at.After(of.latest)
}

// lateEvents notes the Events that came after their traces had been taken, of
// objects that are not folded yet because an open trace needs them.
func (e *Engine) lateEvents(d *derivation) {
	for _, l := range d.ordered {
		if _, taken := e.taken[l.id]; !taken {
			continue
		}
		for _, r := range l.recs {
			if writes, all := d.untold(r); all && len(writes) > 0 {
				continue // it will be told with its Events
			}
			for _, ev := range r.t.events {
				at := ev.at().at()
				if ev.told || at.IsZero() || !ev.of(r) || r.next == nil && !at.Before(r.activity) ||
					!e.beforeTaken(l.id, at.Time) {
					continue
				}
				ev.told = true
				e.amend(r.t, past{line: l.id, span: r.id()}, amendment{key: ev.key(), at: at.Time, event: ev})
			}
		}
	}
}

// tell notes that the writes and Events of a trace are handed out with it.
func (l *lineage) tell() {
	for _, r := range l.recs {
		r.tell()
	}
}

// key names an occurrence among the amendments of its object: a
// resourceVersion is that of one Event only.
func (e *event) key() string { return "event/" + strconv.FormatUint(e.ResourceVersion, 10) }

func (e *Engine) amend(t *timeline, p past, a amendment) {
	a.ref, a.service, a.past = t.ref, reconciler(t), p
	e.late = append(e.late, a)
}

// told is what was learned, as a span event.
func (a *amendment) told() span.Event {
	if a.event != nil {
		return occurred(a.event)
	}
	if a.write != nil {
		said := auditSpan(&lineage{id: a.past.line}, a.write)
		name := span.EventWrite
		if a.write.Failed() {
			name = "write refused"
			said.Attributes = append(
				said.Attributes,
				span.KeyReason.String(a.write.Reason),
				span.KeyMessage.String(a.write.Message),
			)
		}
		return span.Event{Time: a.at, Name: name, Attributes: append(said.Attributes,
			span.KeyActor.String(said.Service), span.KeyTimeEnd.String(string(span.TimeAudit)))}
	}
	attrs := []attribute.KeyValue{span.KeyRV.Int64(int64(a.rv))} //nolint:gosec // etcd revisions are int64
	if a.repeats > 0 {
		attrs = append(attrs, span.KeyRepeats.Int64(a.repeats))
	}
	return span.Event{Time: a.at, Name: span.EventWrite, Attributes: attrs}
}

// Amendments returns what was learned of traces after Take had handed them out, each once: a trace of
// the same ID for each. It holds whole spans with the attribute lifeline.late, and spans named "amend",
// of no length, under the spans that they add to (rule L9).
func (e *Engine) Amendments() []*span.Trace {
	out := e.added
	e.added = nil
	for _, a := range e.late {
		s := &span.Span{
			TraceID: a.past.line,
			Parent:  a.past.span,
			ID:      span.DeriveID(a.past.line, string(a.ref.UID), "amend", a.key),
			Name:    span.NameAmend,
			Service: a.service,
			Object:  a.ref,
			Start:   span.Time{Time: a.at, Source: span.TimeWatch},
			End:     span.Time{Time: a.at, Source: span.TimeWatch},
			Events:  []span.Event{a.told()},
		}
		if a.event != nil {
			//nolint:gosec // etcd revisions are int64
			s.Attributes = append(s.Attributes, span.KeyRV.Int64(int64(a.event.ResourceVersion)))
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
