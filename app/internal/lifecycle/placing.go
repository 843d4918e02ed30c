// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// place adds w to its reconciliation, or begins one.
func (d *derivation) place(w *change.Write) {
	switch {
	case d.placeSlice(w):
	case d.endStep(w):
		w.Part = change.Bookkeeping
		d.placeNote(w)
	case w.Part == change.Desired && w.Verb == history.Updated && w.Timeline.Kind().Immediate:
		d.placeMetadata(w)
	case w.Publishes():
		d.placeRevision(w)
	case w.Part == change.Desired && d.reconciled(w):
		d.placeDesired(w)
	case w.Part == change.Desired:
		d.placeData(w)
	case w.Part == change.Metadata && d.reconciled(w):
		d.placeMetadata(w)
	case w.Part == change.Metadata:
		d.placeData(w)
	default:
		d.placeNote(w)
	}
	if w.Verb != history.Removed && (w.Verb != history.Deleted || w.Fate != change.Step) {
		d.Lose(w)
	}
}

// endStep reports whether a controller changed the desired state of an object in deletion. Such a write
// is a step of the deletion, since no controller acts on it.
func (d *derivation) endStep(w *change.Write) bool {
	return w.Part == change.Desired && w.Verb == history.Updated && w.Previous != nil &&
		!w.Previous.Deleting.IsZero() && d.LineOf(w) == nil && d.metadataStep(w)
}

// reconciled reports whether a component acts on the object of w.
func (d *derivation) reconciled(w *change.Write) bool {
	if w.Verb == history.Deleted && (w.Version != nil || len(d.engine.dependantsOf(w.Timeline.Ref.UID)) > 0) {
		return true // a deletion has steps, or removes other objects
	}
	if last := w.Timeline.Last(); last != nil {
		return last.Reconciled
	}
	return w.Request != nil
}

func (d *derivation) placeDesired(w *change.Write) {
	c := d.Cause(w)
	now := newest(d.historyOf(w.Timeline))
	if same := d.inLine(w, c.Line); same != nil {
		same.Wrote(w)
		same.Took |= w.Parts()
		same.Parts |= w.Parts()
		same.Links = append(same.Links, c.Links...)
		d.takeOver(w, same)
		d.stir(same, w)
		return
	}
	r := &change.Reconciliation{
		Timeline: w.Timeline, Lineage: c.Line, Parent: c.Parent, Above: c.Above, Remote: c.Remote,
		Evidence: c.Evidence, Links: c.Links, Heals: c.Heals, Verb: w.Verb,
		SpanID: c.Span, Admitted: c.Span.IsValid(), Took: w.Parts(), Parts: w.Parts(),
	}
	r.Wrote(w)
	if now != nil {
		now.Next = w
		before := now.Superseded == nil && now.Lineage != r.Lineage
		if others := d.takeOver(w, r); before && !slices.Contains(others, now) {
			r.Links = append(r.Links, now.Link("previous"))
		}
	}
	if len(r.Lineage.Reconciliations) == 0 {
		r.Lineage.First = w.RV
	}
	r.Lineage.Reconciliations = append(r.Lineage.Reconciliations, r)
	if r.Parent != nil {
		r.Parent.Children = append(r.Parent.Children, r)
	}
	for p := r.Parent; p != nil; p = p.Parent {
		if first := p.First(); first.Stored() <= w.RV {
			first.At = first.At.Before(w.At.Hi) // a cause is earlier than its effects, in any order of arrival (rule T)
		}
	}
	d.recs[w.Timeline] = append(d.historyOf(w.Timeline), r)
	d.Relate(r)
	d.stir(r, w)
}

// takeOver removes the parts changed by w, a write of by, from the object's other reconciliations.
// A reconciliation without remaining parts is superseded (rule D2). The others continue beside by.
// With the first write of by, takeOver links them with by and returns them.
func (d *derivation) takeOver(w *change.Write, by *change.Reconciliation) []*change.Reconciliation {
	var others []*change.Reconciliation
	whole := w.Timeline.Kind().Whole()
	for _, r := range d.historyOf(w.Timeline) {
		if r == by || r.Superseded != nil || r.Verb == history.Deleted || r.ConvergedBy(w.RV) != nil {
			continue
		}
		if left := r.Parts &^ r.Loses(w) & whole; left != 0 {
			r.Parts = left
			others = append(others, r)
			continue
		}
		r.Superseded = w
		r.Lineage.Latest = history.Later(r.Lineage.Latest, w.Heard())
	}
	if w != by.First() {
		return nil
	}
	for _, r := range others {
		change.Beside(r, by)
	}
	return others
}

// inLine returns the reconciliation of the trace l that w continues, or nil. Only an update or a
// creation continues one. After its convergence, no write continues it past a change by another trace.
func (d *derivation) inLine(w *change.Write, l *change.Lineage) *change.Reconciliation {
	if w.Verb == history.Deleted {
		return nil
	}
	newer := false
	for _, r := range slices.Backward(d.historyOf(w.Timeline)) {
		if r.Lineage == l && r.Verb != history.Deleted && r.Superseded == nil {
			if newer && r.ConvergedBy(w.RV) != nil {
				return nil
			}
			return r
		}
		newer = true
		if r.Verb == history.Deleted {
			break
		}
	}
	return nil
}

// placeMetadata places a change of only labels or annotations. It is a separate change, and the
// object's reconciliation continues beside it (rule D2). A change by a controller is a step of that
// reconciliation (rule N3).
func (d *derivation) placeMetadata(w *change.Write) {
	if d.placeLoss(w) {
		return
	}
	now, run := newest(d.historyOf(w.Timeline)), d.LineOf(w)
	switch {
	case run == nil && d.Adopter(w) != nil:
		w.Part = change.Ownership
		up := d.Adopter(w)
		up.Note(w)
		d.stir(up, w)
		return
	case run == nil && d.metadataStep(w):
		w.Part = change.Bookkeeping
		if from := d.copied(w); from != nil {
			from.Note(w)
			return
		}
		d.placeNote(w)
		return
	case run != nil && (now == nil || now.Lineage != run):
		d.placeRequest(w)
		return
	}
	if d.inSeries(w) {
		w.Fate = change.Repeated
		return
	}
	c := d.Cause(w)
	if now != nil && now.Lineage == c.Line && now.Verb != history.Deleted && now.Superseded == nil {
		now.Wrote(w)
		now.Links = append(now.Links, c.Links...)
		d.stir(now, w)
		return
	}
	d.beginInstant(w, c)
}

// beginInstant begins and returns the reconciliation of a change that is complete as soon as it is
// stored.
func (d *derivation) beginInstant(w *change.Write, c cause.Cause) *change.Reconciliation {
	r := &change.Reconciliation{
		Timeline: w.Timeline, Lineage: c.Line, Parent: c.Parent, Above: c.Above, Remote: c.Remote, Evidence: c.Evidence,
		Links: c.Links, Heals: c.Heals, Verb: w.Verb, SpanID: c.Span,
		Admitted: c.Span.IsValid(), Instant: true,
	}
	r.Wrote(w)
	if len(r.Lineage.Reconciliations) == 0 {
		r.Lineage.First = w.RV
	}
	r.Lineage.Reconciliations = append(r.Lineage.Reconciliations, r)
	if r.Parent != nil {
		r.Parent.Children = append(r.Parent.Children, r)
	}
	r.Lineage.Latest = history.Later(r.Lineage.Latest, w.Heard())
	d.instants[w.Timeline.Ref.UID] = append(d.Instants(w.Timeline.Ref.UID), r)
	d.beginSeries(r)
	return r
}

// placeRevision places a new revision of a source: a separate change, or the effect of a change
// of the source.
func (d *derivation) placeRevision(w *change.Write) {
	c := d.Cause(w)
	if r := d.UnderWay(w); r != nil && r.Lineage == c.Line {
		c.Parent, c.Above, c.Remote, c.Evidence = r, trace.SpanID{}, false, span.ByOwner
	}
	d.beginInstant(w, c)
}

// copied returns the change of the owner's labels or annotations that the owner's controller copied
// with w, or nil.
func (d *derivation) copied(w *change.Write) *change.Reconciliation {
	o := d.engine.controllerOf(w.Timeline)
	if o == nil {
		return nil
	}
	from := d.instant(o.UID)
	if from == nil || !d.Alive(from.Lineage, w) || !slices.ContainsFunc(w.Changed.Paths, func(path string) bool {
		return slices.Contains(from.First().Changed.Paths, path)
	}) {
		return nil
	}
	return from
}

// LineOf returns the lineage of the run with the request of w, or nil.
func (d *derivation) LineOf(w *change.Write) *change.Lineage {
	if w.Request == nil {
		return nil
	}
	return d.lineOf(w.Request)
}

// metadataStep reports whether a controller changed the metadata: a component of the control plane,
// the kubelet, the owner's controller, or the object's own controller.
func (d *derivation) metadataStep(w *change.Write) bool {
	if kind.IsComponent(w.Manager) || cause.OwnController(w) {
		return true
	}
	return w.Manager != "" && d.engine.controllerOf(w.Timeline) != nil && d.ByController(w)
}

// placeData places a write to an object without a controller. The write is a step of the
// reconciliation that made it, if there is one. Otherwise it is a change, unless a component of
// Kubernetes made it.
func (d *derivation) placeData(w *change.Write) {
	if w.Request != nil && d.placeRequest(w) {
		return
	}
	if up := d.dataCause(w); up != nil {
		up.Note(w)
		return
	}
	switch {
	case kind.IsComponent(w.Manager), w.IsDefault(), d.surplusHistory(w):
	case d.inSeries(w):
		w.Fate = change.Repeated
	default:
		d.beginInstant(w, d.Cause(w))
	}
}

// dataCause returns the cause of a write to an object without a controller: the reconciliation of
// another object, or nil.
func (d *derivation) dataCause(w *change.Write) *change.Reconciliation {
	if up := d.OpenOwner(
		w,
	); up != nil && (up.Verb != history.Deleted || w.Verb != history.Updated) &&
		d.ByController(w) {
		return up
	}
	if d.surplusHistory(w) {
		return d.Current(d.engine.controllerOf(w.Timeline).UID)
	}
	if w.Verb == history.Deleted {
		c, _ := d.ByOwnersEnd(w)
		return c.Parent
	}
	return d.NamespaceDefault(w)
}

// surplusHistory reports whether the owner's controller removes a surplus ControllerRevision with
// w.
func (d *derivation) surplusHistory(w *change.Write) bool {
	return w.Verb == history.Deleted && kind.ControllerRevision.Is(w.Timeline.Ref.Kind) &&
		d.engine.controllerOf(w.Timeline) != nil &&
		d.ByController(w)
}

// placeRequest gives a write with an observed request a separate span, in the trace of the request.
// It returns false for a request without a trace.
func (d *derivation) placeRequest(w *change.Write) bool {
	l := d.lineOf(w.Request)
	if l == nil {
		return false
	}
	w.Fate = change.Traced
	l.Loose = append(l.Loose, w.Request)
	l.Latest = history.Later(l.Latest, w.Request.End)
	return true
}

// placeNote places a write to status or bookkeeping. The write belongs to the reconciliation that
// is under way. After the convergence of that reconciliation, it belongs to the one below that
// caused the owner's write.
func (d *derivation) placeNote(w *change.Write) {
	if w.Request != nil && d.placeRequest(w) {
		return
	}
	r := d.UnderWay(w)
	if claim := d.Binding(w); claim != nil {
		claim.Note(w)
		d.stir(claim, w)
		return
	}
	if w.Part == change.Ownership {
		if up := d.OwnershipCause(w); up != nil {
			up.Note(w)
			d.stir(up, w)
			return
		}
	}
	var arrived *history.Version
	if r != nil && r.Verb != history.Deleted {
		arrived = r.ConvergedBy(w.RV)
	}
	if r == nil || arrived != nil {
		if up := d.OpenOwner(w); up != nil && w.Part == change.Bookkeeping && d.ByController(w) {
			// The owner's controller prepares the object, for example with a revision or a hash.
			up.Note(w)
			d.stir(up, w)
			return
		}
		if below := d.stirred[w.Timeline]; below.rec != nil &&
			(arrived == nil || below.rv > arrived.ResourceVersion) {
			r = below.rec
		}
	}
	if r == nil {
		return
	}
	r.Note(w)
	if r.Timeline != w.Timeline || judge.Opaque(w.Timeline.Last()) && w.Version != nil && judge.Converged(w.Version) {
		// A status without news does not extend the activity of the reconciliation.
		r.Lineage.Latest = history.Later(r.Lineage.Latest, w.Heard())
		return
	}
	d.stir(r, w)
}

// UnderWay returns the newest reconciliation of the object that had not ended before w. Without
// one, it returns the newest.
func (d *derivation) UnderWay(w *change.Write) *change.Reconciliation {
	recs := d.historyOf(w.Timeline)
	for _, r := range slices.Backward(recs) {
		if r.OpenAt(w, d.opts.Quiet) {
			return r
		}
	}
	return newest(recs)
}

// stir records w as a write of r. All ancestors of r are then active. The next writes of the owners
// may be a consequence of r.
func (d *derivation) stir(r *change.Reconciliation, w *change.Write) {
	at := w.At.At().Time
	heard := w.Heard()
	r.Lineage.Latest = history.Later(r.Lineage.Latest, heard)
	progress := progresses(r, w)
	for p := r; p != nil; p = p.Parent {
		p.Activity = history.Later(p.Activity, at)
		if progress {
			p.Progressed = history.Later(p.Progressed, heard)
		}
	}
	t := w.Timeline
	for range 16 {
		if t = d.engine.controllerAbove(t); t == nil {
			return
		}
		d.stirred[t] = stirring{r, w.RV}
	}
}
