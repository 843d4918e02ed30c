// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// lull is the longest pause between the arrival of all earlier dependants and the creation of the
// next one in the same reconciliation of the owner. A rolling update waits between its steps
// (minReadySeconds). A dependant after a longer pause is a replacement or the effect of a later
// request, with a separate trace.
const lull = time.Minute

// rebuild is the origin of an object found at the start, by its own timestamps and those of its
// dependants (rule L7). All times are whole seconds.
type rebuild struct {
	t *change.Timeline
	change.Rebuilt
	// owner is the origin of the controller owner, or nil if the owner was not found as well.
	// member means that t is part of the owner's reconciliation.
	owner  *rebuild
	member bool
	// complete is the time of a Deployment's complete rollout, also for all objects below it. It is
	// zero if unknown.
	complete time.Time
}

// HowRebuilt returns the write behind the found state of t, or nil.
func HowRebuilt(s *Scene, t *change.Timeline) *change.Rebuilt {
	if r := s.rebuilt[t]; r != nil {
		return &r.Rebuilt
	}
	return nil
}

// rebuildAll finds the origins of all objects from before the start of the observer, owners before
// dependants. It finds none without Options.Rebuild.
func rebuildAll(s *Scene, all iter.Seq[*change.Timeline]) {
	if !s.options.Rebuild {
		return
	}
	for t := range all {
		owner := s.Known.Controller(t)
		if !rebuildable(t) || owner != nil && rebuildable(s.Known.Object(owner.UID)) {
			continue
		}
		rebuildOf(s, t, nil)
	}
}

// rebuildable reports whether t was found in its present state, and not on its way out. An old
// ReplicaSet with zero replicas is kept for a rollback and does not count as evidence.
func rebuildable(t *change.Timeline) bool {
	if t == nil || t.Folded || t.Past != nil || len(t.Versions) == 0 {
		return false
	}
	v := t.Versions[0]
	return v.Baseline && v.Reconciled && v.Deleting.IsZero() && !isIdle(v)
}

// rebuildOf finds the origin of t and of all objects below it. owner is the origin of its controller
// owner, or nil.
func rebuildOf(s *Scene, t *change.Timeline, owner *rebuild) *rebuild {
	v := t.Versions[0]
	r := &rebuild{t: t, owner: owner}
	if s.rebuilt[t] != nil {
		return s.rebuilt[t] // a cycle of owners
	}
	put(&s.rebuilt, t, r)
	begin(s, r, v)
	switch {
	case v.Workload != nil && !v.Workload.Complete.IsZero():
		r.complete = v.Workload.Complete
	case owner != nil:
		r.complete = owner.complete
	}
	var below []*rebuild
	for _, dep := range madeBy(s, t) {
		below = append(below, rebuildOf(s, dep, r))
	}
	slices.SortFunc(below, func(a, b *rebuild) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.t.Ref.UID, b.t.Ref.UID))
	})
	open, reach, members := change.Found(v), r.Start, false
	for _, b := range below {
		b.member = !b.Start.Before(r.Start) && (open || b.Start.Sub(reach) <= lull) &&
			(r.complete.IsZero() || !b.Start.After(r.complete))
		if b.member {
			members, reach = true, history.Later(reach, history.Later(b.Start, b.End))
		}
	}
	switch {
	case open:
	case members:
		r.End = reach
		if at := statusTime(v); at.After(reach) && at.Sub(reach) <= lull {
			r.End = at // the status followed then
		}
	default:
		r.End = arrivalOf(v, r.Start)
	}
	if v.Workload != nil && r.End.After(r.complete) && !r.complete.Before(r.Start) {
		r.End = r.complete // later writes are not part of the rollout
	}
	return r
}

// madeBy returns the objects controlled by t and found together with it.
func madeBy(s *Scene, t *change.Timeline) []*change.Timeline {
	var out []*change.Timeline
	for _, dep := range s.Known.Dependants(t.Ref.UID) {
		if o := s.Known.Controller(dep); o != nil && o.UID == t.Ref.UID && rebuildable(dep) {
			out = append(out, dep)
		}
	}
	return out
}

// begin finds the write that led to v: the object's creation, or a later write behind the present
// state. A Pod is created only once. A Deployment of the first revision has only been scaled since
// its creation.
func begin(s *Scene, r *rebuild, v *history.Version) {
	r.Verb, r.Start = history.Created, v.Created
	switch {
	case v.Generation <= 1, v.Pod != nil, r.owner != nil && !v.Created.Before(r.owner.Start),
		kind.Deployment.Is(v.Kind) && v.Workload != nil && v.Workload.Revision == "1":
		return
	}
	effect := firstPod(s, r.t, 0)
	var at, last time.Time
	for _, m := range v.Managers {
		if m.Subresource != "" {
			continue
		}
		last = history.Later(last, m.Time)
		if effect.IsZero() || !m.Time.After(effect) {
			at = history.Later(at, m.Time)
		}
	}
	switch {
	case at.After(v.Created) && (r.owner == nil || !at.Before(r.owner.Start)):
		r.Verb, r.Start = history.Updated, at
	case r.owner != nil && !last.Before(r.owner.Start):
		r.Verb, r.Start = history.Updated, r.owner.Start // a later write has changed its time
	case r.owner == nil && kind.Deployment.Is(v.Kind):
		// The author of the rollout has written the Deployment again since, such as a label. So the
		// ReplicaSets of the rollout give its time.
		for _, dep := range madeBy(s, r.t) {
			if made := dep.Versions[0].Created; made.After(r.Start) && !made.After(effect) {
				r.Verb, r.Start = history.Updated, made
			}
		}
	}
}

// firstPod returns the time of creation of the oldest existing Pod below t, or zero.
func firstPod(s *Scene, t *change.Timeline, depth int) time.Time {
	var first time.Time
	for _, dep := range madeBy(s, t) {
		at := dep.Versions[0].Created
		if dep.Versions[0].Pod == nil {
			if depth > 16 {
				continue
			}
			at = firstPod(s, dep, depth+1)
		}
		if first.IsZero() || !at.IsZero() && at.Before(first) {
			first = at
		}
	}
	return first
}

// statusTime returns the time of the last write of the object's status.
func statusTime(v *history.Version) time.Time {
	var at time.Time
	for _, m := range v.Managers {
		if m.Subresource == "status" {
			at = history.Later(at, m.Time)
		}
	}
	return at
}

// arrivalOf returns the time of the arrival or failure of v, an object without dependants, not
// before start. After a restart of a container, the Pod no longer shows its first time of
// readiness. Then only the conditions before readiness count.
func arrivalOf(v *history.Version, start time.Time) time.Time {
	at, again := start, false
	if v.Pod != nil {
		for _, c := range v.Pod.Containers {
			switch {
			case c.Restarts > 0:
				again = true
			case c.State != nil:
				at = history.Later(at, history.Later(c.State.Started, c.State.Finished))
			}
		}
	}
	stated := false
	for _, c := range v.Conditions {
		if again && (c.Type == judge.PodReady || c.Type == "ContainersReady") ||
			c.Status != "True" && judge.Failure(v) == "" {
			continue
		}
		stated = stated || !c.Since.Before(start)
		at = history.Later(at, c.Since)
	}
	if !stated && v.Pod == nil {
		at = history.Later(at, statusTime(v))
	}
	return at
}

// byRebuild is rule L7: the cause of a write concluded from its effects.
func byRebuild(s *Scene, w *change.Write) (Cause, bool) {
	b := s.rebuilt[w.Timeline]
	if b == nil || !w.Reconstructed || b.owner == nil {
		return Cause{}, false
	}
	owner := s.Placed.Current(b.owner.t.Ref.UID)
	switch {
	case owner == nil:
		return Cause{}, false
	case b.member:
		return Cause{Line: owner.Lineage, Parent: owner, Evidence: span.ByOwner}, true
	}
	c := Cause{Line: newLine(s, w), Links: []span.Link{owner.Link("owner")}}
	c.follows = owner.Lineage
	return c, true
}
