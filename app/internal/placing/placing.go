// SPDX-License-Identifier: Apache-2.0

// Package placing places each write: it applies the rules about causes (package cause) to the writes of a group of
// objects, in the order in which they were stored, and makes reconciliations and traces of them (package placed).
package placing

import (
	"slices"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/placed"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

// Placing places the writes of a group of objects.
type Placing struct {
	known  index.View
	placed *placed.Changes
	trail  *trail.Trail
	scene  *cause.Scene
	opts   change.Options
	// members are the objects. series are their series of forgotten versions.
	members map[*change.Timeline]struct{}
	series  map[types.UID]*change.SeriesList
	// heartbeats are the series with the known changes, by object.
	heartbeats map[*change.Timeline]*change.Heartbeat
	// stirred is the last write below each object, with its reconciliation.
	stirred map[*change.Timeline]stirring
}

// New returns a Placing of the writes to the members. series are the series of their forgotten versions.
func New(
	s *cause.Scene, o change.Options, members map[*change.Timeline]struct{}, series map[types.UID]*change.SeriesList,
) *Placing {
	return &Placing{
		known: s.Known, placed: s.Placed, trail: s.Trail, scene: s, opts: o, members: members, series: series,
		stirred: map[*change.Timeline]stirring{},
	}
}

// Run places all writes, and the failed requests of commands.
func (p *Placing) Run(runs bool) {
	p.placed.Written = p.writes()
	for _, w := range p.placed.Written {
		p.place(w)
	}
	p.placeFailed(runs)
}

// Heartbeat returns the series of t with the known changes, or nil.
func (p *Placing) Heartbeat(t *change.Timeline) *change.Heartbeat { return p.heartbeats[t] }

// cause finds the cause of w and applies it.
func (p *Placing) cause(w *change.Write) cause.Cause {
	c := cause.Of(p.scene, w)
	cause.Apply(p.scene, &c)
	return c
}

// stirring is a write below an object.
type stirring struct {
	rec *change.Reconciliation
	rv  uint64
}

// place adds w to its reconciliation, or begins one.
func (p *Placing) place(w *change.Write) {
	switch {
	case p.placeSlice(w):
	case p.endStep(w):
		w.Part = change.Bookkeeping
		p.placeNote(w)
	case w.Part == change.Desired && w.Verb == history.Updated && w.Timeline.Kind().Immediate:
		p.placeMetadata(w)
	case w.Publishes():
		p.placeRevision(w)
	case w.Part == change.Desired && p.reconciled(w):
		p.placeDesired(w)
	case w.Part == change.Desired:
		p.placeData(w)
	case w.Part == change.Metadata && p.reconciled(w):
		p.placeMetadata(w)
	case w.Part == change.Metadata:
		p.placeData(w)
	default:
		p.placeNote(w)
	}
	cause.Occupy(p.scene, w)
}

// endStep reports whether a controller changed the desired state of an object in deletion. Such a write
// is a step of the deletion, since no controller acts on it.
func (p *Placing) endStep(w *change.Write) bool {
	return w.Part == change.Desired && w.Verb == history.Updated && w.Previous != nil &&
		!w.Previous.Deleting.IsZero() && p.placed.LineOf(w) == nil && p.metadataStep(w)
}

// reconciled reports whether a component acts on the object of w.
func (p *Placing) reconciled(w *change.Write) bool {
	if w.Verb == history.Deleted && (w.Version != nil || len(p.known.Dependants(w.Timeline.Ref.UID)) > 0) {
		return true // a deletion has steps, or removes other objects
	}
	if last := w.Timeline.Last(); last != nil {
		return last.Reconciled
	}
	return w.Request != nil
}

func (p *Placing) placeDesired(w *change.Write) {
	c := p.cause(w)
	now := placed.Newest(p.placed.Of(w.Timeline))
	if same := p.inLine(w, c.Line); same != nil {
		same.Wrote(w)
		same.Took |= w.Parts()
		same.Parts |= w.Parts()
		same.Links = append(same.Links, c.Links...)
		p.takeOver(w, same)
		p.stir(same, w)
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
		if others := p.takeOver(w, r); before && !slices.Contains(others, now) {
			r.Links = append(r.Links, now.Link("previous"))
		}
	}
	p.placed.Add(r)
	for p := r.Parent; p != nil; p = p.Parent {
		if first := p.First(); first.Stored() <= w.RV {
			first.At = first.At.Before(w.At.Hi) // a cause is earlier than its effects, in any order of arrival (rule T)
		}
	}
	cause.Relate(p.scene, r)
	p.stir(r, w)
}

// takeOver removes the parts changed by w, a write of by, from the object's other reconciliations.
// A reconciliation without remaining parts is superseded (rule D2). The others continue beside by.
// With the first write of by, takeOver links them with by and returns them.
func (p *Placing) takeOver(w *change.Write, by *change.Reconciliation) []*change.Reconciliation {
	var others []*change.Reconciliation
	whole := w.Timeline.Kind().Whole()
	for _, r := range p.placed.Of(w.Timeline) {
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
func (p *Placing) inLine(w *change.Write, l *change.Lineage) *change.Reconciliation {
	if w.Verb == history.Deleted {
		return nil
	}
	newer := false
	for _, r := range slices.Backward(p.placed.Of(w.Timeline)) {
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
func (p *Placing) placeMetadata(w *change.Write) {
	if p.placeLoss(w) {
		return
	}
	now, run := placed.Newest(p.placed.Of(w.Timeline)), p.placed.LineOf(w)
	switch {
	case run == nil && cause.Adopter(p.scene, w) != nil:
		w.Part = change.Ownership
		up := cause.Adopter(p.scene, w)
		up.Note(w)
		p.stir(up, w)
		return
	case run == nil && p.metadataStep(w):
		w.Part = change.Bookkeeping
		if from := p.copied(w); from != nil {
			from.Note(w)
			return
		}
		p.placeNote(w)
		return
	case run != nil && (now == nil || now.Lineage != run):
		p.placeRequest(w)
		return
	}
	if p.inSeries(w) {
		w.Fate = change.Repeated
		return
	}
	c := p.cause(w)
	if now != nil && now.Lineage == c.Line && now.Verb != history.Deleted && now.Superseded == nil {
		now.Wrote(w)
		now.Links = append(now.Links, c.Links...)
		p.stir(now, w)
		return
	}
	p.beginInstant(w, c)
}

// beginInstant begins and returns the reconciliation of a change that is complete as soon as it is
// stored.
func (p *Placing) beginInstant(w *change.Write, c cause.Cause) *change.Reconciliation {
	r := &change.Reconciliation{
		Timeline: w.Timeline, Lineage: c.Line, Parent: c.Parent, Above: c.Above, Remote: c.Remote, Evidence: c.Evidence,
		Links: c.Links, Heals: c.Heals, Verb: w.Verb, SpanID: c.Span,
		Admitted: c.Span.IsValid(), Instant: true,
	}
	r.Wrote(w)
	p.placed.Add(r)
	r.Lineage.Latest = history.Later(r.Lineage.Latest, w.Heard())
	p.beginSeries(r)
	return r
}

// placeRevision places a new revision of a source: a separate change, or the effect of a change
// of the source.
func (p *Placing) placeRevision(w *change.Write) {
	c := p.cause(w)
	if r := p.placed.UnderWay(w); r != nil && r.Lineage == c.Line {
		c.Parent, c.Above, c.Remote, c.Evidence = r, trace.SpanID{}, false, span.ByOwner
	}
	p.beginInstant(w, c)
}

// copied returns the change of the owner's labels or annotations that the owner's controller copied
// with w, or nil.
func (p *Placing) copied(w *change.Write) *change.Reconciliation {
	o := p.known.Controller(w.Timeline)
	if o == nil {
		return nil
	}
	from := p.placed.Instant(o.UID)
	if from == nil || !cause.StillOpen(p.scene, from.Lineage, w) {
		return nil
	}
	same := func(path string) bool { return slices.Contains(from.First().Changed.Paths, path) }
	if !slices.ContainsFunc(w.Changed.Paths, same) {
		return nil
	}
	return from
}

// metadataStep reports whether a controller changed the metadata: a component of the control plane,
// the kubelet, the owner's controller, or the object's own controller.
func (p *Placing) metadataStep(w *change.Write) bool {
	if kind.IsComponent(w.Manager) || cause.OwnController(p.scene, w) {
		return true
	}
	return w.Manager != "" && p.known.Controller(w.Timeline) != nil && cause.ByController(p.scene, w)
}

// placeData places a write to an object without a controller. The write is a step of the
// reconciliation that made it, if there is one. Otherwise it is a change, unless a component of
// Kubernetes made it, and did not correct the change before.
func (p *Placing) placeData(w *change.Write) {
	if w.Request != nil && p.placeRequest(w) {
		return
	}
	if up := p.dataCause(w); up != nil {
		up.Note(w)
		return
	}
	before := p.corrected(w)
	switch {
	case kind.IsComponent(w.Manager) && before == nil, w.IsDefault(), p.surplusHistory(w):
	case p.inSeries(w):
		w.Fate = change.Repeated
	default:
		r := p.beginInstant(w, p.cause(w))
		if before != nil && before.Lineage != r.Lineage {
			r.Links = append(r.Links, before.Link("previous"))
		}
	}
}

// corrected returns the change that w, an update by a component of Kubernetes, follows directly; nil if the version
// before has another origin.
func (p *Placing) corrected(w *change.Write) *change.Reconciliation {
	if w.Verb != history.Updated || !kind.IsComponent(w.Manager) || w.Previous == nil {
		return nil
	}
	for _, before := range slices.Backward(p.placed.Instants(w.Timeline.Ref.UID)) {
		if before.Verb == history.Updated && before.Last().RV == w.Previous.ResourceVersion {
			return before
		}
	}
	return nil
}

// dataCause returns the cause of a write to an object without a controller: the reconciliation of
// another object, or nil.
func (p *Placing) dataCause(w *change.Write) *change.Reconciliation {
	if up := cause.OpenOwner(p.scene,
		w,
	); up != nil && (up.Verb != history.Deleted || w.Verb != history.Updated) &&
		cause.ByController(p.scene, w) {
		return up
	}
	if p.surplusHistory(w) {
		return p.placed.Current(p.known.Controller(w.Timeline).UID)
	}
	if w.Verb == history.Deleted {
		c, _ := cause.ByOwnersEnd(p.scene, w)
		return c.Parent
	}
	return cause.NamespaceDefault(p.scene, w)
}

// surplusHistory reports whether the owner's controller removes a surplus ControllerRevision with
// w. The end of the owner or of the Namespace removes every revision.
func (p *Placing) surplusHistory(w *change.Write) bool {
	if w.Verb != history.Deleted || !kind.ControllerRevision.Is(w.Timeline.Ref.Kind) {
		return false
	}
	_, ends := cause.ByOwnersEnd(p.scene, w)
	return !ends && p.known.Controller(w.Timeline) != nil && cause.ByController(p.scene, w)
}

// placeNote places a write to status or bookkeeping. The write belongs to the reconciliation that
// is under way. After the convergence of that reconciliation, it belongs to the one below that
// caused the owner's write.
func (p *Placing) placeNote(w *change.Write) {
	if w.Request != nil && p.placeRequest(w) {
		return
	}
	r := p.placed.UnderWay(w)
	if claim := cause.Binding(p.scene, w); claim != nil {
		claim.Note(w)
		p.stir(claim, w)
		return
	}
	if w.Part == change.Ownership {
		if up := cause.OwnershipCause(p.scene, w); up != nil {
			up.Note(w)
			p.stir(up, w)
			return
		}
	}
	var arrived *history.Version
	if r != nil && r.Verb != history.Deleted {
		arrived = r.ConvergedBy(w.RV)
	}
	if r == nil || arrived != nil {
		up := cause.OpenOwner(p.scene, w)
		if up != nil && w.Part == change.Bookkeeping && cause.ByController(p.scene, w) {
			// The owner's controller prepares the object, for example with a revision or a hash.
			up.Note(w)
			p.stir(up, w)
			return
		}
		if below := p.stirred[w.Timeline]; below.rec != nil &&
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
	p.stir(r, w)
}

// stir records w as a write of r. All ancestors of r are then active. The next writes of the owners
// may be a consequence of r.
func (p *Placing) stir(r *change.Reconciliation, w *change.Write) {
	at := w.At.At().Time
	if t := w.At.Earliest(); !t.IsZero() {
		at = t // a write in an outage of the watch shows no activity at its end
	}
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
		if t = p.known.Above(t); t == nil {
			return
		}
		p.stirred[t] = stirring{r, w.RV}
	}
}
