// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// maxLag is the time that a trace waits at most for a watch that is behind.
const maxLag = 30 * time.Second

// told returns the mark of a stored write that a trace was handed out with. It is nil if only the
// request was seen.
func (w *write) told() *bool {
	switch {
	case w.v != nil:
		return &w.v.told
	case w.t.removal != nil && w.rv == w.t.removal.rv:
		return &w.t.removal.told
	}
	return nil
}

// untold returns the writes of r that no trace was handed out with, and reports whether these are all
// of its stored writes.
func (d *derivation) untold(r *reconciliation) (writes []*write, all bool) {
	all = !r.folded
	for _, w := range r.writes {
		switch told := w.told(); {
		case told == nil:
		case *told, d.handedOut(r.line) && d.lineOfWrite(w) == r.line:
			all = false // a command's trace is handed out with all its requests
		default:
			writes = append(writes, w)
		}
	}
	for _, w := range r.notes {
		if told := w.told(); told != nil && !*told && (w.part == desired || w.changed.metadata()) {
			writes = append(writes, w)
		}
	}
	return writes, all
}

// elsewhere reports whether all of r was handed out in another trace than its own.
func (d *derivation) elsewhere(r *reconciliation) bool {
	if d.handedOut(r.line) {
		return false
	}
	writes, all := d.untold(r)
	return len(writes) == 0 && !all
}

// toldBefore returns whether another trace, or another span, was handed out with a write of r.
func (d *derivation) toldBefore(r *reconciliation) func(*write) bool {
	if writes, all := d.untold(r); d.handedOut(r.line) && (len(writes) == 0 || !all) {
		return func(*write) bool { return false }
	}
	return func(w *write) bool {
		told := w.told()
		return told != nil && *told
	}
}

// tell notes that r is handed out with its trace, and so are its Events.
func (r *reconciliation) tell() {
	for _, list := range [][]*write{r.writes, r.notes} {
		for _, w := range list {
			if told := w.told(); told != nil {
				*told = true
			}
		}
	}
	for _, ev := range r.t.events {
		if ev.of(r) {
			ev.told = true
		}
	}
}

// late returns the reconciliations of traces that were handed out before all of these writes were
// known.
func (d *derivation) late() []*reconciliation {
	var out []*reconciliation
	for _, r := range d.folded {
		if writes, _ := d.untold(r); len(writes) > 0 {
			out = append(out, r)
		}
	}
	for _, l := range d.ordered {
		if !d.handedOut(l) {
			continue
		}
		for _, r := range l.recs {
			if writes, _ := d.untold(r); len(writes) > 0 {
				out = append(out, r)
			}
		}
	}
	return out
}

// addLate makes spans of what belongs to traces that were handed out: whole reconciliations when they
// have ended and been quiet, and further writes of those that were told.
func (e *Engine) addLate(d *derivation, now time.Time) {
	for _, r := range d.late() {
		writes, all := d.untold(r)
		switch {
		case !all:
			for _, w := range writes {
				e.amend(w.t, past{line: r.line.id, span: r.id()}, amendment{
					key: "state/" + strconv.FormatUint(w.rv, 10), at: w.at.at().Time, rv: w.rv,
				})
			}
		case r.done && now.Sub(r.heard()) >= e.opts.Settle && !d.behind(r, now):
			e.add(r.line.id, d.lateSpans(r))
		default:
			continue
		}
		r.tell()
	}
}

// lingers reports whether t is remembered whole for the time of maxLag: its own version may be on its
// way, or a write to another object that belongs to its newest change without an owner reference, by
// its name or as a copy of its metadata.
func (d *derivation) lingers(t *timeline, now time.Time) bool {
	var r *reconciliation
	switch {
	case len(t.versions) == 0 && len(t.requests) > 0:
		r = d.current(t.ref.UID)
	case kind.Namespace.Is(t.ref.Kind), kind.CustomResourceDefinition.Is(t.ref.Kind):
		r = d.current(t.ref.UID)
	case kind.Of(t.ref.Group, t.ref.Kind.Kind).Owner:
		r = d.instants[t.ref.UID]
	}
	if r == nil || r.folded {
		return false
	}
	taken, known := d.engine.taken[r.line.id]
	return known && now.Sub(taken.at) < maxLag
}

// lateSpans makes the spans of a reconciliation for a trace that was handed out without it.
func (d *derivation) lateSpans(r *reconciliation) []*span.Span {
	spans := d.spans(r)
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

// heard is when the last write of r was heard of.
func (r *reconciliation) heard() time.Time {
	var at time.Time
	for _, w := range r.writes {
		at = later(at, w.heard())
	}
	return at
}

// behind reports whether a source may be behind that decides the place of r: the audit log, the watch of
// an object above or related, or that of the Pods of r's object.
func (d *derivation) behind(r *reconciliation, now time.Time) bool {
	if d.auditLags(r, now) {
		return true
	}
	for p := r; p != nil; p = p.parent {
		if d.ownerLags(p, now) || d.relationLags(p, now) {
			return true
		}
	}
	return d.dependantsLag(r, now)
}

// ownerLags reports whether the watch of r's controller owner may be behind: the owner is not known, or
// its controller made r, or ended it, for a version of the owner that is not known. Controllers of the
// known kinds write the owner's status afterwards. For other kinds any version of the owner will do.
func (d *derivation) ownerLags(r *reconciliation, now time.Time) bool {
	o := d.engine.controllerOf(r.t)
	if o == nil || r.instant {
		return false
	}
	k, up := kind.Of(o.Group, o.Kind.Kind), d.engine.objects[o.UID]
	if k.Schedule || up != nil && (up.removal != nil || up.last() != nil &&
		(len(k.Effects) == 0 || up.last().ResourceVersion > r.first().rv)) {
		return false
	}
	return now.Sub(r.heard()) <= maxLag
}

// dependantsLag reports whether the status of r's object counts other Pods than are known: the watch of
// Pods or of ReplicaSets is behind. Status counts of StatefulSets and DaemonSets leave some Pods out.
func (d *derivation) dependantsLag(r *reconciliation, now time.Time) bool {
	v := r.t.last()
	if r.instant || r.verb == deleted || r.t.removal != nil || v == nil || v.Workload == nil {
		return false
	}
	known, counted := d.livingPods(r.t), int(v.Workload.Total)
	if known == counted || known > counted && !kind.Deployment.Is(v.Kind) && !kind.ReplicaSet.Is(v.Kind) {
		return false
	}
	return now.Sub(r.line.latest) <= maxLag
}

// livingPods returns the number of known Pods below t, through its ReplicaSets if it has such.
func (d *derivation) livingPods(t *timeline) int {
	n := 0
	for _, below := range d.engine.dependantsOf(t.ref.UID) {
		switch last := below.last(); {
		case last == nil, below.removal != nil:
		case last.Pod != nil && alive(last):
			n++
		case last.Workload != nil:
			n += d.livingPods(below)
		}
	}
	return n
}

// auditSilence is the time without an event after which the audit log counts as ended.
const auditSilence = 5 * time.Minute

// measureAudit notes how late an event of the audit log is. A longer delay counts at once, a shorter one
// slowly. Older events are history, as after a pause of the reader.
func (e *Engine) measureAudit(o *observation.Observation) {
	late := max(o.Seen.Sub(o.Write.End), 0)
	if late > maxLag || o.Write.Unauthenticated {
		return
	}
	e.auditAt = later(e.auditAt, o.Seen)
	e.auditDelay = max(late, e.auditDelay-e.auditDelay/64)
}

// auditLags reports whether the request that made r may yet come from the audit log. It may name an
// author who is not the owner's controller (rule A2).
func (d *derivation) auditLags(r *reconciliation, now time.Time) bool {
	w := r.first()
	if d.engine.auditDelay == 0 || now.Sub(d.engine.auditAt) > auditSilence || r.folded || w.reconstructed ||
		w.req != nil ||
		d.audited(w) != nil {
		return false
	}
	return now.Sub(w.heard()) <= min(2*d.engine.auditDelay, maxLag)
}
