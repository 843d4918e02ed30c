// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"math"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// maxLag is the maximum time that a trace waits for a delayed watch.
const maxLag = 30 * time.Second

// pending reports whether r has writes that were not handed out with any trace (some). It also
// reports whether none of its stored writes to desired state was handed out (all). A folded r has a
// write that was.
func (d *derivation) pending(r *change.Reconciliation) (some, all bool) {
	all = !r.Folded
	for _, w := range r.Writes {
		if d.isUntold(r, w) {
			some = true
		} else if _, stored := w.HandedOut(); stored {
			all = false
		}
	}
	return some || slices.ContainsFunc(r.Notes, pendingNote), all
}

// pendingWrites returns the writes of r that were not handed out with any trace.
func (d *derivation) pendingWrites(r *change.Reconciliation) []*change.Write {
	var out []*change.Write
	for _, w := range r.Writes {
		if d.isUntold(r, w) {
			out = append(out, w)
		}
	}
	for _, w := range r.Notes {
		if pendingNote(w) {
			out = append(out, w)
		}
	}
	return out
}

// isUntold reports whether w, a write of r to desired state, was not handed out with any trace. The
// trace of a command is handed out with all its requests.
func (d *derivation) isUntold(r *change.Reconciliation, w *change.Write) bool {
	handedOut, stored := w.HandedOut()
	return stored && !handedOut && (d.LineOf(w) != r.Lineage || !d.handedOut(r.Lineage))
}

// pendingNote reports whether w, a note of a reconciliation, was not handed out with any trace. Of
// the notes, only changes of desired state or metadata are handed out late.
func pendingNote(w *change.Write) bool {
	handedOut, stored := w.HandedOut()
	return stored && !handedOut && (w.Part == change.Desired || w.Changed.Metadata())
}

// elsewhere reports whether all of r was handed out in a trace other than its own.
func (d *derivation) elsewhere(r *change.Reconciliation) bool {
	if d.handedOut(r.Lineage) {
		return false
	}
	some, all := d.pending(r)
	return !some && !all
}

// handedOutBefore returns a function for the writes of r. It reports whether a write was handed out
// earlier, in another trace or another span.
func (d *derivation) handedOutBefore(r *change.Reconciliation) func(*change.Write) bool {
	if some, all := d.pending(r); d.handedOut(r.Lineage) && !(some && all) {
		return func(*change.Write) bool { return false }
	}
	return func(w *change.Write) bool {
		handedOut, _ := w.HandedOut()
		return handedOut
	}
}

// late returns the reconciliations with writes that arrived after the handout of their trace.
func (d *derivation) late() []*change.Reconciliation {
	var out []*change.Reconciliation
	for _, r := range d.folded {
		if some, _ := d.pending(r); some {
			out = append(out, r)
		}
	}
	for _, l := range d.ordered {
		if !d.handedOut(l) {
			continue
		}
		for _, r := range l.Reconciliations {
			if some, _ := d.pending(r); some {
				out = append(out, r)
			}
		}
	}
	return out
}

// addLate adds late spans to traces that were handed out. A whole reconciliation gets its spans
// after its end and a quiet time. Further writes of a reconciliation that was handed out become
// amendments.
func (e *Engine) addLate(d *derivation, now time.Time) {
	for _, r := range d.late() {
		_, all := d.pending(r)
		switch {
		case !all:
			for _, w := range d.pendingWrites(r) {
				e.amend(w.Timeline, change.Past{TraceID: r.Lineage.ID, SpanID: r.ID()}, lateWrite(w))
			}
		case r.Done && now.Sub(r.Heard()) >= e.opts.Settle && !d.behind(r, now):
			e.add(r.Lineage.ID, d.lateSpans(r))
			e.handOutPublications(d, r, now)
		default:
			continue
		}
		r.HandOut()
	}
}

// lateWrite returns the amendment of a stored write.
func lateWrite(w *change.Write) amendment {
	if w.Audit != nil {
		return amendment{key: "audit/" + w.Audit.AuditID, at: w.Audit.Start, write: w.Audit.Write}
	}
	rv := w.ObjectVersion()
	return amendment{key: "state/" + strconv.FormatUint(rv, 10), at: w.At.At().Time, rv: rv}
}

// lingers reports whether t is kept whole for maxLag. A version of t may still arrive. A write to
// another object may still arrive, too, and belong to the newest change of t. It belongs there by
// the name of t, by an Event about t, or as a copy of its metadata, and not by an owner reference.
func (d *derivation) lingers(t *change.Timeline, now time.Time) bool {
	if slices.ContainsFunc(t.Events, func(e *history.Event) bool {
		return e.Related != nil && now.Sub(e.Seen) < maxLag
	}) {
		return true
	}
	var r *change.Reconciliation
	switch {
	case kind.Node.Is(t.Ref.Kind) && d.instant(t.Ref.UID) == nil:
		r = newest(d.historyOf(t))
	case len(t.Versions) == 0 && len(t.Requests()) > 0:
		r = newest(d.historyOf(t))
	case kind.Namespace.Is(t.Ref.Kind), kind.CustomResourceDefinition.Is(t.Ref.Kind), kind.Certificate.Is(t.Ref.Kind),
		slices.ContainsFunc(t.Names(), causesByName):
		r = newest(d.historyOf(t))
	case t.Kind().Owner:
		r = d.instant(t.Ref.UID)
	}
	if r == nil || r.Folded {
		return false
	}
	taken, known := d.engine.taken[r.Lineage.ID]
	return known && now.Sub(taken.At) < maxLag
}

// causesByName reports whether an object of that name may cause writes to objects that refer to it: it is
// the cause in a relation of the configuration, or applies them.
func causesByName(n object.Name) bool {
	_, declared := n.Declared()
	return declared || kind.DeliveryOf(n) != nil
}

// lateSpans returns the spans of a reconciliation for a trace that was handed out without it.
func (d *derivation) lateSpans(r *change.Reconciliation) []*span.Span {
	spans := d.spans(nil, r)
	for _, s := range spans {
		s.Attributes = append(s.Attributes, span.KeyLate.Bool(true))
	}
	return spans
}

func (e *Engine) add(id trace.TraceID, spans []*span.Span) {
	i := slices.IndexFunc(e.added, func(t *span.Trace) bool { return t.ID == id })
	if i < 0 {
		i = len(e.added)
		e.added = append(e.added, &span.Trace{ID: id})
	}
	e.added[i].Spans = append(e.added[i].Spans, spans...)
}

// behind reports whether a source that decides the place of r may be delayed: the audit log, the
// watch of an object above r or related to it, or the watch of the Pods of r's object.
func (d *derivation) behind(r *change.Reconciliation, now time.Time) bool {
	if d.auditLags(r, now) {
		return true
	}
	for p := r; p != nil; p = p.Parent {
		if d.ownerLags(p, now) || d.relationLags(p, now) {
			return true
		}
	}
	return d.dependantsLag(r, now)
}

// ownerLags reports whether the watch of r's controller owner may be delayed. Either the owner is
// unknown, or its controller made r or ended it for an unknown version of the owner. Controllers of
// the known kinds write the owner's status afterwards. For other kinds, any version of the owner is
// enough. An update of labels or annotations has a separate trace in any case.
func (d *derivation) ownerLags(r *change.Reconciliation, now time.Time) bool {
	o := d.engine.controllerOf(r.Timeline)
	if o == nil || r.Instant && r.Verb == history.Updated {
		return false
	}
	k, up := kind.Of(o.Group, o.Kind.Kind), d.Object(o.UID)
	if k.Schedule || up != nil && (up.Removal != nil || up.Last() != nil &&
		(len(k.Effects) == 0 || up.Last().ResourceVersion > r.Last().RV)) {
		return false
	}
	return now.Sub(r.Heard()) <= maxLag
}

// dependantsLag reports whether the status of r's object counts a different number of Pods than the
// engine. The watch of Pods or of ReplicaSets is then delayed. The status counts of StatefulSets
// and DaemonSets leave some Pods out.
func (d *derivation) dependantsLag(r *change.Reconciliation, now time.Time) bool {
	v := r.Timeline.Last()
	if r.Instant || r.Verb == history.Deleted || r.Timeline.Removal != nil || v == nil || v.Workload == nil {
		return false
	}
	known, counted := d.livingPods(r.Timeline), int(v.Workload.Total)
	if known == counted || known > counted && !kind.Deployment.Is(v.Kind) && !kind.ReplicaSet.Is(v.Kind) {
		return false
	}
	return now.Sub(r.Lineage.Latest) <= maxLag
}

// livingPods returns the number of known living Pods below t, including those of its ReplicaSets.
func (d *derivation) livingPods(t *change.Timeline) int {
	n := 0
	for _, below := range d.engine.dependantsOf(t.Ref.UID) {
		switch last := below.Last(); {
		case last == nil, below.Removal != nil:
		case last.Pod != nil && cause.Alive(last):
			n++
		case last.Workload != nil:
			n += d.livingPods(below)
		}
	}
	return n
}

// auditSilence is the time without an event after which the audit log counts as ended.
const auditSilence = 5 * time.Minute

// measureAudit measures the delay of an audit log event. A longer delay counts at once, a shorter
// one gradually. Older events are history, for example after a pause of the reader.
func (e *Engine) measureAudit(o *observation.Observation) {
	late := max(o.Seen.Sub(o.Write.End), 0)
	if late > maxLag || o.Write.Unauthenticated {
		return
	}
	e.auditAt = history.Later(e.auditAt, o.Seen)
	e.auditDelay = max(late, e.auditDelay-e.auditDelay/64)
}

// auditLags reports whether the request of r's first write may still arrive from the audit log. It
// may contain an author other than the owner's controller (rule A2).
func (d *derivation) auditLags(r *change.Reconciliation, now time.Time) bool {
	w := r.First()
	if d.engine.auditDelay == 0 || now.Sub(d.engine.auditAt) > auditSilence || r.Folded || w.Reconstructed ||
		w.Request != nil ||
		d.Audited(w) != nil {
		return false
	}
	return now.Sub(w.Heard()) <= min(2*d.engine.auditDelay, maxLag)
}

// settled reports whether the trace has ended and was then quiet for the settle window.
func (d *derivation) settled(l *change.Lineage, now time.Time) bool {
	if l.Run != nil && l.Run.End.IsZero() {
		return false
	}
	// A change of metadata waits only for the audit log. It does not wait if its request was
	// observed.
	waits := l.Vain || slices.ContainsFunc(l.Reconciliations, func(r *change.Reconciliation) bool {
		return !r.Instant || r.First().Request == nil
	})
	for _, r := range l.Reconciliations {
		if !r.Done || d.behind(r, now) {
			return false
		}
	}
	// Some objects get a status every second.
	return !waits || now.Sub(l.Latest) >= d.opts.Settle || now.Sub(d.concluded(l)) > maxLag
}

// concluded returns the time from which only steps of ended reconciliations extend the trace. It is that of
// the last activity for a trace with refused writes: a drain goes on after them.
func (d *derivation) concluded(l *change.Lineage) time.Time {
	var at time.Time
	if l.Run != nil {
		at = l.Run.End
	}
	for _, w := range l.Loose {
		at = history.Later(at, w.End)
	}
	for _, r := range l.Reconciliations {
		if len(r.Refused) > 0 {
			return l.Latest
		}
		at = history.Later(at, d.endHeard(r))
	}
	if at.IsZero() || len(l.Refused) > 0 {
		return l.Latest
	}
	return at
}

// endHeard returns the time of the observation that ended r. Clocks of the cluster do not count.
func (d *derivation) endHeard(r *change.Reconciliation) time.Time {
	at := r.Heard()
	if r.Timeline.Removal != nil {
		return history.Later(at, r.Timeline.Removal.Seen)
	}
	v := r.ConvergedBy(math.MaxUint64)
	if v == nil {
		v = r.FailedBefore(math.MaxUint64)
	}
	switch {
	case v != nil:
		at = history.Later(at, v.Seen)
	case r.Superseded != nil:
		at = history.Later(at, r.Superseded.Heard())
	case r.Ended.Outcome == span.Unfinished && (r.Parent == nil || !r.Parent.Done):
		at = history.Later(at, r.Progressed.Add(d.opts.Patience))
	}
	return at
}

// relationLags reports whether the watch of an object related to r may be delayed (rule C4).
// Examples are the CustomResourceDefinition of an API, the StatefulSet or claim behind storage, the
// autoscaler behind a scaling, and the deleted Namespace of the object of r.
func (d *derivation) relationLags(r *change.Reconciliation, now time.Time) bool {
	w := r.First()
	switch {
	case d.Applies(w):
		return now.Sub(r.Heard()) <= maxLag
	case r.Parent != nil:
		return false
	case cause.RegistersAPI(w), d.Relates(w):
		return now.Sub(r.Heard()) <= maxLag
	case w.Verb == history.Deleted && w.Timeline.Ref.Namespace != "" && w.Request == nil && d.Audited(w) == nil,
		w.Verb == history.Deleted && cause.IsMirror(w):
		return now.Sub(r.Heard()) <= maxNamespaceLag
	}
	return false
}

// maxNamespaceLag is the time that the trace of a deletion by an unknown author waits for the
// deletion of the Namespace. It is short because most such objects are deleted alone.
const maxNamespaceLag = 10 * time.Second
