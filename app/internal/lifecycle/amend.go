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
	"github.com/kube-lifeline/lifeline/app/internal/trail"
	"github.com/kube-lifeline/lifeline/app/internal/tree"
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
	// repeats is the number of writes of a series, and rv then the last of them. With a refused write it is
	// the number of equal ones. Otherwise it is 0.
	repeats int64
	// fight is the part of that last write in a fight, or nil.
	fight *change.Fight
}

// amendments are the late facts about traces that Take has handed out.
type amendments struct {
	trail  *trail.Trail
	memory *memory
	after  *aftermaths
	opts   Options
	facts  []amendment
	// added are late spans. They are not saved.
	added []*span.Trace
}

// count returns the number of late facts and spans.
func (am *amendments) count() int { return len(am.facts) + len(am.added) }

// state reports whether the version is older than the rest of a handed-out trace. It records
// such a version as an amendment.
func (am *amendments) state(t *change.Timeline, o *observation.Observation) bool {
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
	am.amend(t, *t.Past, amendment{
		key: "state/" + strconv.FormatUint(o.State.ResourceVersion, 10), at: o.Seen, rv: o.State.ResourceVersion,
	})
	return true
}

// audit reports whether the request of the audit log made a write in a handed-out trace, or a
// write before the start of the observer. It records the first kind as an amendment.
func (am *amendments) audit(t *change.Timeline, w *observation.Write, again bool) bool {
	switch {
	case t.Past != nil && t.Past.Gone:
	case w.ResourceVersion == 0 && t.Past != nil && len(t.Versions) > 0 &&
		(w.Precondition > 0 && w.Precondition < t.Versions[0].ObjectVersion() || w.End.Before(t.Past.Activity)):
	case w.ResourceVersion == 0,
		w.Unlisted && t.Past == nil && !t.Folded,
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
			am.trail.Count(func(s *trail.Stats) { s.Joined++ }) // an update of an EndpointSlice, forgotten at once
		default:
			am.trail.Count(func(s *trail.Stats) { s.Late++ })
		}
		return true
	}
	am.amend(t, *of, amendment{key: "audit/" + w.AuditID, at: w.Start, write: w})
	return true
}

// refusal reports whether the refused request is older than the last activity in a handed-out
// trace. It records such a request as an amendment.
func (am *amendments) refusal(t *change.Timeline, w *observation.Write) bool {
	if t.Past == nil || !w.Start.Before(t.Past.Activity) {
		return false
	}
	am.amend(t, *t.Past, amendment{key: "audit/" + w.AuditID, at: w.Start, write: w})
	return true
}

// event reports whether the Kubernetes Event is from the time before a trace was handed out. It
// records such an Event as an amendment.
func (am *amendments) event(t *change.Timeline, o *observation.Observation, shared *history.Shared) bool {
	if t.Past == nil {
		return false
	}
	ev := shared.Occurrence(o)
	at, of := ev.At().At(), t.Past.Of(ev)
	if of == nil {
		return true // its reconciliation is forgotten
	}
	// All Events before the next reconciliation belong to an earlier one.
	if at.IsZero() || of == t.Past && !at.Before(of.Activity) || !am.beforeTaken(of.TraceID, at.Time) {
		return false
	}
	if o.Listed && !o.Late {
		return true // a list repeats Events that were seen and forgotten
	}
	am.amend(t, *of, amendment{key: ev.Key(), at: at.Time, event: ev})
	return true
}

// beforeTaken reports whether the time at is within a handed-out trace. Later changes of its
// objects are not part of it. The result is false for a forgotten trace: no observation comes that
// late.
func (am *amendments) beforeTaken(line trace.TraceID, at time.Time) bool {
	of, known := am.memory.taken[line]
	return known && !at.After(of.Latest)
}

// events records the Events that arrived after their traces were handed out. It covers the
// objects that are not folded yet because an open trace needs them.
func (am *amendments) events(d *derivation) {
	for _, l := range d.placed.Ordered {
		if _, taken := am.memory.taken[l.ID]; !taken {
			continue
		}
		for _, r := range l.Reconciliations {
			if some, all := d.placed.Pending(r); some && all {
				continue // it will be handed out with its Events
			}
			for _, ev := range r.Timeline.Events {
				at := ev.At().At()
				if ev.HandedOut || at.IsZero() || !r.Has(ev) || r.Next == nil && !at.Before(r.Activity) ||
					!am.beforeTaken(l.ID, at.Time) {
					continue
				}
				ev.HandedOut = true
				am.amend(
					r.Timeline,
					change.Past{TraceID: l.ID, SpanID: r.ID()},
					amendment{key: ev.Key(), at: at.Time, event: ev},
				)
			}
		}
	}
}

func (am *amendments) amend(t *change.Timeline, p change.Past, a amendment) {
	a.ref, a.service, a.past = t.Ref, change.Reconciler(t), p
	am.facts = append(am.facts, a)
}

// spanEvent returns the late fact as a span event, and the stored write in it; nil without one.
func (a *amendment) spanEvent() (span.Event, *span.Facts) {
	if a.event != nil {
		return phase.Occurred(a.event), nil
	}
	if a.write != nil {
		said := tree.AuditSpan(&change.Lineage{ID: a.past.TraceID}, a.write)
		name := span.EventWrite
		if a.write.Failed() {
			name = "write refused"
			said.Attributes = append(
				said.Attributes,
				span.KeyReason.String(a.write.Reason),
				span.KeyMessage.String(a.write.Message),
			)
		}
		if a.repeats > 0 {
			said.Attributes = append(said.Attributes, span.KeyRepeats.Int64(a.repeats))
		}
		return span.Event{Time: a.at, Name: name, Attributes: append(
			said.Attributes,
			span.KeyActor.String(said.Service),
			span.KeyTimeEnd.String(string(span.TimeAudit)),
		)}, tree.Requested(said, a.write)
	}
	attrs := []attribute.KeyValue{span.KeyRV.Int64(int64(a.rv))} //nolint:gosec // etcd revisions are int64
	if a.repeats > 0 {
		attrs = append(attrs, span.KeyRepeats.Int64(a.repeats))
	}
	return span.Event{Time: a.at, Name: span.EventWrite, Attributes: attrs}, &span.Facts{Writes: []span.Write{{
		ResourceVersion: int64(a.rv), Start: a.at, End: a.at, Source: span.TimeWatch, //nolint:gosec // as above
	}}}
}

// take returns the late facts about traces that Take has handed out, each once. The result
// has one trace per trace ID. It contains whole spans with the attribute lifeline.late, and
// zero-length spans named "late fact". The parent of such a span is the span with the additional
// fact (rule L9).
func (am *amendments) take() []*span.Trace {
	out := am.added
	am.added = nil
	for _, a := range am.facts {
		event, facts := a.spanEvent()
		s := &span.Span{
			TraceID:    a.past.TraceID,
			Parent:     a.past.SpanID,
			ID:         span.DeriveID(a.past.TraceID, string(a.ref.UID), "amend", a.key),
			Name:       span.NameLate,
			Service:    a.service,
			Object:     a.ref,
			Start:      span.Time{Time: a.at, Source: span.TimeWatch},
			End:        span.Time{Time: a.at, Source: span.TimeWatch},
			Events:     []span.Event{event},
			Attributes: tree.FightAttributes(a.fight, a.at),
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
	am.facts = nil
	return out
}

// writes adds the late writes of d to traces that were handed out. A whole reconciliation gets its spans
// after its end and a quiet time, and whole is called with it. Further writes of a reconciliation that was handed
// out become amendments.
func (am *amendments) writes(d *derivation, now time.Time, whole func(*change.Reconciliation)) {
	for _, r := range d.placed.Late() {
		_, all := d.placed.Pending(r)
		switch {
		case !all:
			for _, w := range d.placed.PendingWrites(r) {
				am.amend(w.Timeline, change.Past{TraceID: r.Lineage.ID, SpanID: r.ID()}, lateWrite(w))
			}
		case r.Done && now.Sub(r.Heard()) >= am.opts.Settle && !d.settling.behind(r, now):
			am.add(r.Lineage.ID, d.spans.LateSpans(r))
			whole(r)
		default:
			continue
		}
		r.HandOut()
	}
}

func (am *amendments) add(id trace.TraceID, spans []*span.Span) {
	i := slices.IndexFunc(am.added, func(t *span.Trace) bool { return t.ID == id })
	if i < 0 {
		i = len(am.added)
		am.added = append(am.added, &span.Trace{ID: id})
	}
	am.added[i].Spans = append(am.added[i].Spans, spans...)
}

// lateWrite returns the amendment of a stored write.
func lateWrite(w *change.Write) amendment {
	if w.Audit != nil {
		return amendment{key: "audit/" + w.Audit.AuditID, at: w.Audit.Start, write: w.Audit.Write}
	}
	rv := w.ObjectVersion()
	return amendment{key: "state/" + strconv.FormatUint(rv, 10), at: w.At.At().Time, rv: rv}
}
