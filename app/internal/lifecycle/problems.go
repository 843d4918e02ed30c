// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
)

// problems judges the objects that have changed since the last look, and those whose neighbours have. Only the
// tracker is saved; the rest follows from the index.
type problems struct {
	known   index.View
	groups  *groups
	tracker *problem.Tracker

	// touched are the objects to judge at the next look.
	touched map[*change.Timeline]struct{}
	// off are the objects without their desired state, and below those of them with a controller, by its UID.
	off   map[types.UID]*off
	below map[types.UID]map[types.UID]struct{}
	// moved are the objects whose place among the others has changed since the last look.
	moved map[types.UID]struct{}
	held  held
	wakes wakes
	// spaces are the parts of the above by namespace.
	spaces spaces
	// stirred are the namespaces in which an object may explain another Service now.
	stirred map[string]struct{}
}

// held are the objects that wait for the end of the problem of a controller, by its UID.
type held map[types.UID]map[types.UID]struct{}

func (h held) add(uid, above types.UID) {
	if h[above] == nil {
		h[above] = map[types.UID]struct{}{}
	}
	h[above][uid] = struct{}{}
}

func newProblems(known index.View, gs *groups, cluster string) *problems {
	return &problems{
		known: known, groups: gs, tracker: problem.NewTracker(cluster),
		touched: map[*change.Timeline]struct{}{}, off: map[types.UID]*off{},
		below: map[types.UID]map[types.UID]struct{}{}, moved: map[types.UID]struct{}{},
		held:   held{},
		spaces: spaces{}, stirred: map[string]struct{}{},
	}
}

// Problems returns the problems at the time now, the worst first. The result does not change afterwards.
func (e *Engine) Problems(now time.Time) problem.List { return e.AllProblems(now).List }

// AllProblems returns the problems at the time now, with all their objects.
func (e *Engine) AllProblems(now time.Time) *problem.Snapshot {
	now = now.Round(0)
	e.refresh(now)
	e.problems.look(now)
	return e.problems.tracker.Snapshot(now)
}

// Due reports whether the problems may differ from those of the last look without a new observation, or an aftermath is
// due.
func (e *Engine) Due(now time.Time) bool {
	p := e.problems
	return len(p.touched) > 0 || p.wakes.due(now) || e.after.due(now)
}

// touch notes a change of t, or of its Events. The reasons of its owners may depend on it.
func (p *problems) touch(t *change.Timeline) {
	p.touched[t] = struct{}{}
	for _, o := range t.Above {
		if up := p.known.Object(o.UID); up != nil {
			p.touched[up] = struct{}{}
		}
	}
}

// touchAll notes a change of all objects, after a restoration.
func (p *problems) touchAll(objects map[types.UID]*change.Timeline) {
	for _, t := range objects {
		p.touched[t] = struct{}{}
	}
	for uid := range p.tracker.Entries() {
		p.moved[uid] = struct{}{} // also of an object that is forgotten
	}
}

// touchOff touches the objects without their desired state for which depends returns true.
func (p *problems) touchOff(depends func(*off) bool) {
	for _, o := range p.off {
		if depends(o) {
			p.touched[o.t] = struct{}{}
		}
	}
}

// turn notes Nodes with another readiness. The reasons of their Pods depend on it.
func (p *problems) turn(nodes map[string]bool) {
	if len(nodes) > 0 {
		p.touchOff(func(o *off) bool { return o.pod && nodes[o.node] })
	}
}

// react notes schedulers with a first reaction.
func (p *problems) react(schedulers map[string]bool) {
	if len(schedulers) > 0 {
		p.touchOff(func(o *off) bool { return o.pod && o.node == "" })
	}
}

// look judges the touched objects, and those whose time has come. The result depends on the set of them, not on
// their order.
func (p *problems) look(now time.Time) {
	for p.wakes.due(now) {
		uid := p.wakes.take()
		if t := p.known.Object(uid); t != nil {
			p.touched[t] = struct{}{}
		} else {
			p.moved[uid] = struct{}{}
		}
	}
	for n := 0; len(p.touched) > 0 && n < maxAbove; n++ { // a judgement may touch neighbours
		some := p.touched
		p.touched = map[*change.Timeline]struct{}{}
		for t := range some {
			p.judge(t, now)
		}
	}
	p.place()
	p.stir()
	for _, uid := range slices.Sorted(maps.Keys(p.moved)) {
		p.conclude(uid, now)
	}
	p.release(now)
	if len(p.moved) > 0 {
		p.moved = map[types.UID]struct{}{}
	}
}

// judge judges one object, and touches the neighbours whose judgement depends on the result.
func (p *problems) judge(t *change.Timeline, now time.Time) {
	uid := t.Ref.UID
	p.touchAttempts(t)
	p.rest(t)
	was := p.off[uid]
	is := p.judged(t, now)
	if is != nil && !is.until.IsZero() {
		p.wakes.add(wake{is.until, uid})
	}
	if was == nil && is == nil {
		if p.tracker.Has(uid) {
			p.moved[uid] = struct{}{}
		}
		p.touchUsers(t, false)
		return
	}
	if was != nil {
		p.moved[p.top(was).t.Ref.UID] = struct{}{}
		p.unlink(was)
	}
	if is != nil {
		p.link(is)
	}
	p.moved[uid] = struct{}{}
	if was == nil || is == nil || was.fields != is.fields {
		for _, kid := range p.kids(uid) {
			p.moved[kid] = struct{}{}
			if is != nil {
				p.touchOnce(kid, was)
			}
		}
	}
	p.touchUsers(t, was == nil || is == nil || was.reason.Text != is.reason.Text)
}

// touchAttempts touches the dependants that a new controller stands for, and those that lose theirs.
func (p *problems) touchAttempts(t *change.Timeline) {
	if t.Removal != nil {
		for _, dep := range p.known.Dependants(t.Ref.UID) {
			if p.off[dep.Ref.UID] == nil && dep.Removal == nil {
				p.touched[dep] = struct{}{}
			}
		}
	}
	for kid := range p.below[t.Ref.UID] {
		if o := p.off[kid]; p.attempt(o.t) {
			p.touched[o.t] = struct{}{}
		}
	}
}

// touchOnce touches a dependant after a change of the fields of its controller.
func (p *problems) touchOnce(kid types.UID, was *off) {
	if o := p.off[kid]; o != nil && was != nil {
		p.touched[o.t] = struct{}{}
	}
}

// touchUsers touches the objects whose reasons depend on t by its name. changed means that t has another reason.
func (p *problems) touchUsers(t *change.Timeline, changed bool) {
	switch {
	case kind.PersistentVolumeClaim.Is(t.Ref.Kind):
		for _, by := range p.known.Referrers(object.NameOf(&t.Ref)) {
			if o := p.off[by.Ref.UID]; changed && o != nil && o.pod {
				p.touched[by] = struct{}{}
			}
		}
	case kind.VolumeAttachment.Is(t.Ref.Kind):
		for _, pod := range p.known.Attached(t) {
			if p.off[pod.Ref.UID] != nil {
				p.touched[pod] = struct{}{}
			}
		}
	case kind.Pod.Is(t.Ref.Kind):
		for _, attachment := range p.known.Attachments(t) {
			p.touched[attachment] = struct{}{} // the Pod may have its reason
		}
		for _, r := range t.Refers() {
			if r.Type != object.Claim {
				continue
			}
			for _, claim := range p.known.Named(r.To) {
				if p.off[claim.Ref.UID] != nil && !claim.Last().Deleting.IsZero() {
					p.touched[claim] = struct{}{} // its Pods keep it
				}
			}
		}
	case kind.LimitRange.Is(t.Ref.Kind):
		p.touchOff(func(o *off) bool {
			return o.t.Ref.Namespace == t.Ref.Namespace &&
				(o.reason.Category == reason.Invalid || o.reason.Category == reason.LimitRange)
		})
	}
}

func (p *problems) link(o *off) {
	p.off[o.t.Ref.UID] = o
	p.spaces.of(o.t).off[o.t] = o
	p.stirred[o.t.Ref.Namespace] = struct{}{}
	if o.above == "" {
		return
	}
	if p.below[o.above] == nil {
		p.below[o.above] = map[types.UID]struct{}{}
	}
	p.below[o.above][o.t.Ref.UID] = struct{}{}
}

func (p *problems) unlink(o *off) {
	delete(p.off, o.t.Ref.UID)
	delete(p.spaces.of(o.t).off, o.t)
	p.spaces.drop(o.t)
	p.stirred[o.t.Ref.Namespace] = struct{}{}
	delete(p.below[o.above], o.t.Ref.UID)
	if len(p.below[o.above]) == 0 {
		delete(p.below, o.above)
	}
}

// kids returns the objects without their desired state below a controller.
func (p *problems) kids(uid types.UID) []types.UID {
	if len(p.below[uid]) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(p.below[uid]))
}

// top returns the highest controller above o without its desired state, or o.
func (p *problems) top(o *off) *off {
	for range maxAbove {
		up := p.off[o.above]
		if up == nil {
			return o
		}
		o = up
	}
	return o
}

// place makes the problem of each moved object that of its top, and adds the tops to the moved objects.
func (p *problems) place() {
	for _, uid := range slices.Sorted(maps.Keys(p.moved)) {
		o := p.off[uid]
		if o == nil {
			continue
		}
		if top := p.top(o); top != o {
			p.carry(o, top)
			p.moved[top.t.Ref.UID] = struct{}{}
		}
	}
}

// carry ends the problem of o in favour of that of its top. An age that the top does not show goes with it.
func (p *problems) carry(o, top *off) {
	uid := o.t.Ref.UID
	if since, has := p.tracker.Since(uid); has && top.onset.At.Sub(since) > Confirmation {
		p.tracker.Move(uid, top.t.Ref)
		return
	}
	p.tracker.Ends(uid)
}

// conclude tells the tracker about one object.
func (p *problems) conclude(uid types.UID, now time.Time) {
	t, o := p.known.Object(uid), p.off[uid]
	switch {
	case t == nil || t.Removal != nil || t.Last() == nil:
		p.tracker.Ends(uid)
	case o == nil && p.attempt(t):
		p.tracker.Ends(uid)
	case o == nil:
		if at := p.tracker.Arrives(uid, p.arrived(t), now); !at.IsZero() {
			p.wakes.add(wake{at, uid})
		}
	case p.top(o) != o:
		p.tracker.Ends(uid)
	default:
		if above := p.settling(o); above != "" && !p.tracker.Has(uid) {
			p.held.add(uid, above)
			return
		}
		f := p.failing(o)
		if f == nil && p.tracker.Has(uid) {
			f = p.waiting(o)
		}
		if f == nil {
			return
		}
		if at := p.tracker.Lacks(f, now); !at.IsZero() {
			p.wakes.add(wake{at, uid})
		}
	}
}

// settling returns the controller above o that has its desired state again, and whose problem has not ended yet; ""
// without one. The status of a controller is often behind that of a failing Pod, which is part of that problem.
func (p *problems) settling(o *off) types.UID {
	above := o.above
	for range maxAbove {
		if above == "" || p.tracker.Has(above) {
			return above
		}
		t := p.known.Object(above)
		if t == nil {
			return ""
		}
		up := p.known.Controller(t)
		if up == nil || kind.Node.Is(up.Kind) {
			return ""
		}
		above = up.UID
	}
	return ""
}

// release concludes the objects whose controllers' problems have ended.
func (p *problems) release(now time.Time) {
	for _, above := range slices.Sorted(maps.Keys(p.held)) {
		if p.tracker.Has(above) {
			continue
		}
		all := slices.Sorted(maps.Keys(p.held[above]))
		delete(p.held, above)
		for _, uid := range all {
			p.conclude(uid, now)
		}
	}
}

// chosen returns the object to blame for top: the worst one. That of a specific reason stays while it has only a vague
// reason or an ordinary wait, as between two pulls of an image, until that has lasted.
func (p *problems) chosen(top *off) *off {
	worst := p.worst(top)
	before := p.off[p.tracker.Blames(top.t.Ref.UID)]
	if before == nil || before == worst || p.top(before) != top {
		return worst
	}
	if c := before.reason.Category; c != "" && !slices.Contains(vague, c) {
		return worst
	}
	return before
}

// worst returns the object to blame for top, and its depth below it: the one whose reason weighs most, then the
// deepest, then the one of the newest controller, then the oldest.
func (p *problems) worst(top *off) *off {
	best, bestDepth := top, 0
	p.visit(top, 0, func(o *off, depth int) {
		if better(o, depth, best, bestDepth) {
			best, bestDepth = o, depth
		}
	})
	return best
}

func better(a *off, aDepth int, b *off, bDepth int) bool {
	return cmp.Or(
		cmp.Compare(a.weight(), b.weight()),
		cmp.Compare(aDepth, bDepth),
		a.controllerCreated.Compare(b.controllerCreated),
		b.created.Compare(a.created),
		cmp.Compare(b.t.Ref.UID, a.t.Ref.UID),
	) > 0
}

// waited returns the deepest object below top, and for equal depths that of the newest controller, then the oldest.
func (p *problems) waited(top *off) *off {
	best, bestDepth := top, 0
	p.visit(top, 0, func(o *off, depth int) {
		if cmp.Or(
			cmp.Compare(depth, bestDepth),
			o.controllerCreated.Compare(best.controllerCreated),
			best.created.Compare(o.created),
			cmp.Compare(best.t.Ref.UID, o.t.Ref.UID),
		) > 0 {
			best, bestDepth = o, depth
		}
	})
	return best
}

// visit calls f for each object without its desired state below o.
func (p *problems) visit(o *off, depth int, f func(*off, int)) {
	if depth == maxAbove {
		return
	}
	for kid := range p.below[o.t.Ref.UID] {
		f(p.off[kid], depth+1)
		p.visit(p.off[kid], depth+1, f)
	}
}

// arrived returns the time from which t, which has its desired state, has it. The end of a cordon needs no proof.
func (p *problems) arrived(t *change.Timeline) time.Time {
	at := t.Last().Seen
	for _, v := range slices.Backward(t.Versions) {
		if !converged(v) || fails(reason.Standing(v, nil, nil)) && !reason.Cordoned(v) {
			break
		}
		at = v.Seen
	}
	if kind.Service.Is(t.Ref.Kind) || kind.CronJob.Is(t.Ref.Kind) {
		for _, dep := range p.known.Dependants(t.Ref.UID) {
			if v := dep.Last(); v != nil {
				at = history.Later(at, v.Seen)
			}
		}
	}
	return at
}
