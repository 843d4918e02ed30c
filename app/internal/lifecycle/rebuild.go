// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// lull is how long after all that came before had arrived an object may have
// been made and still be part of its owner's reconciliation: a rolling update
// waits between its steps (minReadySeconds). What came later replaced
// something, or was asked for later: it is a trace of its own.
const lull = time.Minute

// rebuild is how an object came to be as it was found, by its own timestamps
// and those of its dependants (rule L7). All times are whole seconds.
type rebuild struct {
	t     *timeline
	verb  verb
	start time.Time
	// end is zero if it is under way.
	end time.Time
	// owner is the controller owner, if that was found, too; member says that t
	// is part of what happened to it.
	owner  *rebuild
	member bool
	// complete is when a Deployment's rollout was complete, for all below it, too; zero if unknown.
	complete time.Time
}

// rebuildAll finds out how the objects came about that were there when the
// observer began, owners before what they made.
func (d *derivation) rebuildAll() {
	d.rebuilt = map[*timeline]*rebuild{}
	if !d.opts.Rebuild {
		return
	}
	for t := range d.group.members {
		owner := d.engine.controllerOf(t)
		if !t.rebuildable() || owner != nil && d.engine.objects[owner.UID].rebuildable() {
			continue
		}
		d.rebuild(t, nil)
	}
}

// rebuildable reports whether t was found as it is, and not on its way out. An
// old ReplicaSet that is scaled to nothing is kept for a rollback and tells
// nothing.
func (t *timeline) rebuildable() bool {
	if t == nil || t.folded || t.past != nil || len(t.versions) == 0 {
		return false
	}
	v := t.versions[0]
	return v.baseline && v.Reconciled && v.Deleting.IsZero() && !scaledToNothing(v)
}

func scaledToNothing(v *version) bool {
	return kind.ReplicaSet.Is(v.Kind) && v.Workload != nil && v.Workload.Replicas == 0 && v.Workload.Total == 0
}

func (d *derivation) rebuild(t *timeline, owner *rebuild) *rebuild {
	v := t.versions[0]
	r := &rebuild{t: t, owner: owner}
	if d.rebuilt[t] != nil {
		return d.rebuilt[t] // owners in a circle
	}
	d.rebuilt[t] = r
	d.begin(r, v)
	switch {
	case v.Workload != nil && !v.Workload.Complete.IsZero():
		r.complete = v.Workload.Complete
	case owner != nil:
		r.complete = owner.complete
	}
	var below []*rebuild
	for _, dep := range d.madeBy(t) {
		below = append(below, d.rebuild(dep, r))
	}
	slices.SortFunc(below, func(a, b *rebuild) int {
		return cmp.Or(a.start.Compare(b.start), cmp.Compare(a.t.ref.UID, b.t.ref.UID))
	})
	open, reach, members := found(v), r.start, false
	for _, b := range below {
		b.member = !b.start.Before(r.start) && (open || b.start.Sub(reach) <= lull) &&
			(r.complete.IsZero() || !b.start.After(r.complete))
		if b.member {
			members, reach = true, later(reach, later(b.start, b.end))
		}
	}
	switch {
	case open:
	case members:
		r.end = reach
		if at := statusTime(v); at.After(reach) && at.Sub(reach) <= lull {
			r.end = at // it said so then
		}
	default:
		r.end = arrivalOf(v, r.start)
	}
	if v.Workload != nil && r.end.After(r.complete) && !r.complete.Before(r.start) {
		r.end = r.complete // what came later is not the rollout
	}
	return r
}

// madeBy are the objects that t controls and that were found with it.
func (d *derivation) madeBy(t *timeline) []*timeline {
	var out []*timeline
	for _, dep := range d.engine.dependantsOf(t.ref.UID) {
		if o := d.engine.controllerOf(dep); o != nil && o.UID == t.ref.UID && dep.rebuildable() {
			out = append(out, dep)
		}
	}
	return out
}

// begin finds the write that v is the result of: the object's creation, or a
// later one that made what is there now. A Pod is never made twice; a Deployment
// of the first revision has only been scaled since.
func (d *derivation) begin(r *rebuild, v *version) {
	r.verb, r.start = created, v.Created
	switch {
	case v.Generation <= 1, v.Pod != nil, r.owner != nil && !v.Created.Before(r.owner.start),
		kind.Deployment.Is(v.Kind) && v.Workload != nil && v.Workload.Revision == "1":
		return
	}
	effect := d.firstPod(r.t, 0)
	var at, last time.Time
	for _, m := range v.Managers {
		if m.Subresource != "" {
			continue
		}
		last = later(last, m.Time)
		if effect.IsZero() || !m.Time.After(effect) {
			at = later(at, m.Time)
		}
	}
	switch {
	case at.After(v.Created) && (r.owner == nil || !at.Before(r.owner.start)):
		r.verb, r.start = updated, at
	case r.owner != nil && !last.Before(r.owner.start):
		r.verb, r.start = updated, r.owner.start // it was written again since
	case r.owner == nil && kind.Deployment.Is(v.Kind):
		// Whoever rolled it out has written it again since, a label perhaps:
		// what it made then tells.
		for _, dep := range d.madeBy(r.t) {
			if made := dep.versions[0].Created; made.After(r.start) && !made.After(effect) {
				r.verb, r.start = updated, made
			}
		}
	}
}

// firstPod is when the first of the Pods below t was made that are there; zero
// if none is.
func (d *derivation) firstPod(t *timeline, depth int) time.Time {
	var first time.Time
	for _, dep := range d.madeBy(t) {
		at := dep.versions[0].Created
		if dep.versions[0].Pod == nil {
			if depth > 16 {
				continue
			}
			at = d.firstPod(dep, depth+1)
		}
		if first.IsZero() || !at.IsZero() && at.Before(first) {
			first = at
		}
	}
	return first
}

// statusTime is when the object's status was last written.
func statusTime(v *version) time.Time {
	var at time.Time
	for _, m := range v.Managers {
		if m.Subresource == "status" {
			at = later(at, m.Time)
		}
	}
	return at
}

// arrivalOf is when v, which has nothing below it, had arrived or failed, not
// before start. A container that has started again does not tell when the Pod
// was ready first: what comes before that does.
func arrivalOf(v *version, start time.Time) time.Time {
	at, again := start, false
	if v.Pod != nil {
		for _, c := range v.Pod.Containers {
			switch {
			case c.Restarts > 0:
				again = true
			case c.State != nil:
				at = later(at, later(c.State.Started, c.State.Finished))
			}
		}
	}
	told := false
	for _, c := range v.Conditions {
		if again && (c.Type == podReady || c.Type == "ContainersReady") || c.Status != "True" && failure(v) == "" {
			continue
		}
		told = told || !c.Since.Before(start)
		at = later(at, c.Since)
	}
	if !told && v.Pod == nil {
		at = later(at, statusTime(v))
	}
	return at
}

// byRebuild is the cause of a write that was concluded from what it made.
func (d *derivation) byRebuild(w *write) (cause, bool) {
	b := d.rebuilt[w.t]
	if b == nil || !w.reconstructed || b.owner == nil {
		return cause{}, false
	}
	owner := d.current(b.owner.t.ref.UID)
	switch {
	case owner == nil:
		return cause{}, false
	case b.member:
		return cause{line: owner.line, parent: owner, evidence: span.ByOwner}, true
	}
	c := cause{line: d.newLine(w), links: []span.Link{owner.link("owner")}}
	c.line.follows = append(c.line.follows, owner.line)
	return c, true
}
