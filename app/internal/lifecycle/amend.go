// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/phase"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// amendment is a late fact about a reconciliation, from after its trace was handed out. It becomes
// a zero-length span in that trace (rule L9).
type amendment struct {
	ref     object.Ref
	service string
	past    change.Past
	key     string
	at      time.Time
	// rv is the resourceVersion of a version; 0 if the fact is an Event or a request. event is the
	// Event, or nil.
	rv    uint64
	event *history.Event
	// write is a request of the audit log, or nil.
	write *observation.Write
	// repeats is the number of writes of a series; 0 outside a series. rv is then the last of them.
	repeats int64
	// fight is the part of that last write in a fight, or nil.
	fight *change.Fight
}

// lateState reports whether the version is older than the rest of a handed-out trace. It records
// such a version as an amendment.
func (e *Engine) lateState(t *change.Timeline, o *observation.Observation) bool {
	if t.Past == nil && t.Folded && o.State.ResourceVersion < t.Versions[0].ObjectVersion() {
		return true // older than all kept versions: already seen, or in no trace
	}
	if t.Past == nil ||
		!t.Past.Gone && (len(t.Versions) == 0 || o.State.ResourceVersion >= t.Versions[0].ObjectVersion()) {
		return false
	}
	if t.Past.Gone && len(t.Versions) > 0 && o.State.ResourceVersion == t.Versions[0].ObjectVersion() {
		return true // seen before
	}
	if o.Listed {
		return true // a list of old state repeats versions that were seen and forgotten
	}
	e.amend(t, *t.Past, amendment{
		key: "state/" + strconv.FormatUint(o.State.ResourceVersion, 10), at: o.Seen, rv: o.State.ResourceVersion,
	})
	return true
}

// lateAudit reports whether the request of the audit log made a write in a handed-out trace, or a
// write before the start of the observer. It records the first kind as an amendment.
func (e *Engine) lateAudit(t *change.Timeline, w *observation.Write, again bool) bool {
	switch {
	case t.Past != nil && t.Past.Gone:
	case w.ResourceVersion == 0 && t.Past != nil && len(t.Versions) > 0 &&
		(w.Precondition > 0 && w.Precondition < t.Versions[0].ObjectVersion() || w.End.Before(t.Past.Activity)):
	case w.ResourceVersion == 0,
		len(t.Versions) == 0,
		!t.Versions[0].Baseline,
		w.ResourceVersion > t.Versions[0].ObjectVersion():
		return false
	}
	place, _ := t.Place(w.ResourceVersion)
	var of *change.Past
	switch {
	case t.Past == nil:
	case t.Past.Gone && t.Past.Verb == history.Deleted && history.RequestVerb(w) == history.Deleted && w.UID != "":
		of = t.Past
	default:
		of = t.Past.At(place)
	}
	if again || of == nil || audit.Unnamed(w) {
		switch {
		case again:
		case change.ServiceOf(t) != nil && w.ResourceVersion > 0:
			e.tally.Joined++ // an update of an EndpointSlice, forgotten at once
		default:
			e.tally.Late++
		}
		return true
	}
	e.amend(t, *of, amendment{key: "audit/" + w.AuditID, at: w.Start, write: w})
	return true
}

// lateRefusal reports whether the refused request is older than the last activity in a handed-out
// trace. It records such a request as an amendment.
func (e *Engine) lateRefusal(t *change.Timeline, w *observation.Write) bool {
	if t.Past == nil || !w.Start.Before(t.Past.Activity) {
		return false
	}
	e.amend(t, *t.Past, amendment{key: "audit/" + w.AuditID, at: w.Start, write: w})
	return true
}

// lateEvent reports whether the Kubernetes Event is from the time before a trace was handed out. It
// records such an Event as an amendment.
func (e *Engine) lateEvent(t *change.Timeline, o *observation.Observation) bool {
	if t.Past == nil {
		return false
	}
	ev := e.shared.Occurrence(o)
	at, of := ev.At().At(), t.Past.Of(ev)
	if of == nil {
		return true // its reconciliation is forgotten
	}
	// All Events before the next reconciliation belong to an earlier one.
	if at.IsZero() || of == t.Past && !at.Before(of.Activity) || !e.beforeTaken(of.TraceID, at.Time) {
		return false
	}
	if o.Listed && !o.Late {
		return true // a list repeats Events that were seen and forgotten
	}
	e.amend(t, *of, amendment{key: ev.Key(), at: at.Time, event: ev})
	return true
}

// beforeTaken reports whether the time at is within a handed-out trace. Later changes of its
// objects are not part of it. The result is false for a forgotten trace: no observation comes that
// late.
func (e *Engine) beforeTaken(line trace.TraceID, at time.Time) bool {
	of, known := e.taken[line]
	return known && !at.After(of.Latest)
}

// lateEvents records the Events that arrived after their traces were handed out. It covers the
// objects that are not folded yet because an open trace needs them.
func (e *Engine) lateEvents(d *derivation) {
	for _, l := range d.ordered {
		if _, taken := e.taken[l.ID]; !taken {
			continue
		}
		for _, r := range l.Reconciliations {
			if some, all := d.pending(r); some && all {
				continue // it will be handed out with its Events
			}
			for _, ev := range r.Timeline.Events {
				at := ev.At().At()
				if ev.HandedOut || at.IsZero() || !r.Has(ev) || r.Next == nil && !at.Before(r.Activity) ||
					!e.beforeTaken(l.ID, at.Time) {
					continue
				}
				ev.HandedOut = true
				e.amend(
					r.Timeline,
					change.Past{TraceID: l.ID, SpanID: r.ID()},
					amendment{key: ev.Key(), at: at.Time, event: ev},
				)
			}
		}
	}
}

func (e *Engine) amend(t *change.Timeline, p change.Past, a amendment) {
	a.ref, a.service, a.past = t.Ref, change.Reconciler(t), p
	e.late = append(e.late, a)
}

// spanEvent returns the late fact as a span event, and the stored write in it; nil without one.
func (a *amendment) spanEvent() (span.Event, *span.Facts) {
	if a.event != nil {
		return phase.Occurred(a.event), nil
	}
	if a.write != nil {
		said := auditSpan(&change.Lineage{ID: a.past.TraceID}, a.write)
		name := span.EventWrite
		if a.write.Failed() {
			name = "write refused"
			said.Attributes = append(
				said.Attributes,
				span.KeyReason.String(a.write.Reason),
				span.KeyMessage.String(a.write.Message),
			)
		}
		return span.Event{Time: a.at, Name: name, Attributes: append(
			said.Attributes,
			span.KeyActor.String(
				said.Service,
			),
			span.KeyTimeEnd.String(string(span.TimeAudit)),
		)}, requested(said, a.write)
	}
	attrs := []attribute.KeyValue{span.KeyRV.Int64(int64(a.rv))} //nolint:gosec // etcd revisions are int64
	if a.repeats > 0 {
		attrs = append(attrs, span.KeyRepeats.Int64(a.repeats))
	}
	return span.Event{Time: a.at, Name: span.EventWrite, Attributes: attrs}, &span.Facts{Writes: []span.Write{{
		ResourceVersion: int64(a.rv), Start: a.at, End: a.at, Source: span.TimeWatch, //nolint:gosec // as above
	}}}
}

// Amendments returns the late facts about traces that Take has handed out, each once. The result
// has one trace per trace ID. It contains whole spans with the attribute lifeline.late, and
// zero-length spans named "amend". The parent of an "amend" span is the span with the additional
// fact (rule L9).
func (e *Engine) Amendments() []*span.Trace {
	out := e.added
	e.added = nil
	for _, a := range e.late {
		event, facts := a.spanEvent()
		s := &span.Span{
			TraceID:    a.past.TraceID,
			Parent:     a.past.SpanID,
			ID:         span.DeriveID(a.past.TraceID, string(a.ref.UID), "amend", a.key),
			Name:       span.NameAmend,
			Service:    a.service,
			Object:     a.ref,
			Start:      span.Time{Time: a.at, Source: span.TimeWatch},
			End:        span.Time{Time: a.at, Source: span.TimeWatch},
			Events:     []span.Event{event},
			Attributes: fightAttributes(a.fight, a.at),
			Facts:      facts,
		}
		if a.event != nil {
			//nolint:gosec // etcd revisions are int64
			s.Attributes = append(s.Attributes, span.KeyRV.Int64(int64(a.event.ObjectVersion())))
		}
		i := slices.IndexFunc(out, func(t *span.Trace) bool { return t.ID == a.past.TraceID })
		if i < 0 {
			i = len(out)
			out = append(out, &span.Trace{ID: a.past.TraceID})
		}
		if !slices.ContainsFunc(out[i].Spans, func(known *span.Span) bool { return known.ID == s.ID }) {
			out[i].Spans = append(out[i].Spans, s)
		}
	}
	e.late = nil
	return out
}
