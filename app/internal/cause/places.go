// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// places are the places of the dependants of one owner (rule D4). A new dependant fills the place that was freed
// first, or else a new one. A decrease of the owner's number removes free places.
type places struct {
	// rows are the places by their key, and holders those that are filled.
	rows    map[string]*row
	holders map[*change.Timeline]*place
	// losses are all losses of dependants, oldest first.
	losses []*departure
}

// departure is the loss of a dependant: it went, or left its owner or failed for good, without an action of its
// controller.
type departure struct {
	timeline *change.Timeline
	// rv is the resourceVersion of the loss. failed means that the object is still there.
	rv     uint64
	failed bool
	// last is the change that made the loss, or else the newest reconciliation of the lost object. It may be nil.
	last *change.Reconciliation
	// replaced means that a later object fills the place. It was created at the resourceVersion by, 0 if unknown.
	replaced bool
	by       uint64
}

// placesOf returns the places of an owner. At first they are those of the dependants that the observer found at its
// start, and of remembered losses, in order of creation.
func placesOf(s *Scene, owner types.UID) *places {
	if p := s.places[owner]; p != nil {
		return p
	}
	p := &places{rows: map[string]*row{}, holders: map[*change.Timeline]*place{}}
	put(&s.places, owner, p)
	var found []*change.Timeline
	for _, t := range s.Known.Dependants(owner) {
		o := s.Known.Controller(t)
		if o == nil || o.UID != owner || len(t.Versions) == 0 {
			continue
		}
		switch first, past := t.Versions[0], t.Past; {
		case past != nil && past.Gone && past.Lost:
			p.losses = append(p.losses, &departure{
				timeline: t, rv: past.RV, last: s.Placed.Current(t.Ref.UID), replaced: past.Replaced,
			})
			if past.Replaced {
				continue
			}
		case !first.Baseline || !Alive(first) || !slices.Contains(first.Owners, *o):
			continue
		}
		found = append(found, t)
	}
	slices.SortFunc(p.losses, func(a, b *departure) int { return cmp.Compare(a.rv, b.rv) })
	slices.SortFunc(found, func(a, b *change.Timeline) int {
		return cmp.Or(a.Versions[0].Created.Compare(b.Versions[0].Created), cmp.Compare(a.Ref.UID, b.Ref.UID))
	})
	for _, t := range found {
		p.add(s, s.Known.Controller(t), t)
	}
	for _, lost := range p.losses {
		if at := p.holders[lost.timeline]; at != nil {
			at.lost = lost
			p.vacate(at, lost.rv)
		}
	}
	return p
}

// Alive reports whether the object of v serves its purpose, or still may.
func Alive(v *history.Version) bool { return v.Deleting.IsZero() && !hasEnded(v) }

// keyOf returns the key of the place of a dependant of o: the name in a StatefulSet or on a Node, the Node in a
// DaemonSet, the completion index in a Job. All other dependants of one kind replace each other.
func keyOf(o *object.Owner, t *change.Timeline) string {
	last := t.Last()
	switch isPod := last != nil && last.Pod != nil; {
	case kind.Node.Is(o.Kind):
		return t.Ref.Namespace + "/" + t.Ref.Name
	case kind.Deployment.Is(o.Kind), kind.StatefulSet.Is(o.Kind):
		return t.Ref.Kind.Kind + " " + t.Ref.Name
	case kind.DaemonSet.Is(o.Kind) && isPod:
		return cmp.Or(last.Pod.Node, change.PlacedOn(t)) // a new Pod is not bound at once
	case kind.Job.Is(o.Kind) && isPod:
		if index, indexed := completionIndex(t, o); indexed {
			return strconv.Itoa(index)
		}
	}
	return t.Ref.Kind.Group + "/" + t.Ref.Kind.Kind
}

// Occupy records how w, a placed write, changes the places of its object's owners, and those of its own dependants.
func Occupy(s *Scene, w *change.Write) {
	if w.Reconstructed || w.Version == nil && w.Verb != history.Deleted {
		return
	}
	if w.Verb == history.Updated && w.Part == change.Desired && len(s.Known.Dependants(w.Timeline.Ref.UID)) > 0 {
		if to := wanted(w.Timeline, w.RV+1); to >= 0 && to < wanted(w.Timeline, w.RV) {
			p := placesOf(s, w.Timeline.Ref.UID)
			for key := range p.rows {
				p.shrink(key, to, w.RV)
			}
		}
	}
	from, to := keeper(s, w, w.Previous), keeper(s, w, w.Version)
	if w.Verb == history.Deleted {
		from, to = controllerOf(s, w), nil
	}
	if from != nil && to != nil && from.UID == to.UID {
		return
	}
	if from != nil && !kind.Of(from.Group, from.Kind.Kind).Schedule {
		leave(s, w, from)
	}
	if to != nil {
		fill(s, w, to)
	}
}

// keeper returns the controller owner with a place for the object in its version v, or nil.
func keeper(s *Scene, w *change.Write, v *history.Version) *object.Owner {
	if v == nil || len(v.Owners) == 0 || !Alive(v) {
		return nil
	}
	if o := object.ControllerOf(v.Owners); o != nil && s.Known.Owns(*o, w.Timeline) {
		return o
	}
	return nil
}

// fill puts the object of w into a place.
func fill(s *Scene, w *change.Write, o *object.Owner) {
	p := placesOf(s, o.UID)
	free, _ := p.next(s, o, w.Timeline)
	if free == nil {
		p.add(s, o, w.Timeline).since = w.RV
		return
	}
	if free.lost != nil && !edited(free.lost.timeline, w.Timeline) {
		free.lost.replaced, free.lost.by = true, w.RV
	}
	r := p.rows[free.key]
	r.free = r.free[1:]
	*free = place{
		key: free.key, number: numberOf(s, o, w.Timeline), order: free.order, holder: w.Timeline, since: w.RV,
	}
	p.holders[w.Timeline] = free
}

// leave frees the place of the object of w. Without an action of its controller, the object is lost.
func leave(s *Scene, w *change.Write, o *object.Owner) {
	p := placesOf(s, o.UID)
	at := p.holders[w.Timeline]
	if at == nil {
		return
	}
	p.vacate(at, w.RV)
	last := s.Placed.Current(w.Timeline.Ref.UID)
	switch deleted := w.Verb == history.Deleted; {
	case deleted && removed(w, o, last):
		if at.again = refilled(s, w, o); !at.again {
			p.remove(at)
		}
	case !deleted && w.Version.Pod != nil && w.Version.Pod.Phase == "Succeeded":
	default:
		at.lost = &departure{timeline: w.Timeline, rv: w.RV, last: last, failed: !deleted && hasEnded(w.Version)}
		if !deleted && !at.lost.failed { // a change of its labels, for which its controller released it
			at.lost.last = s.Placed.Instant(w.Timeline.Ref.UID)
		}
		p.losses = append(p.losses, at.lost)
		// A decrease before w has ended the demand for the place. A Job starts its indexes one after another.
		if up := s.Known.Object(o.UID); up != nil && !kind.Job.Is(o.Kind) {
			if n := wanted(up, w.RV); n >= 0 {
				p.shrink(at.key, n, w.RV)
			}
		}
	}
}

// removed reports whether the deletion w is an action of the owner's controller. r is the newest reconciliation of
// the object, or nil.
func removed(w *change.Write, o *object.Owner, r *change.Reconciliation) bool {
	return w.Fate == change.Step || r != nil && r.Verb == history.Deleted && r.Parent != nil &&
		(r.Parent.Timeline.Ref.UID == o.UID || replaces(r.Parent.Timeline, w.Timeline))
}

// refilled reports whether the owner's controller, which deleted a dependant with w, makes another one for the place.
func refilled(s *Scene, w *change.Write, o *object.Owner) bool {
	n, up := numberOf(s, o, w.Timeline), s.Known.Object(o.UID)
	return kind.DaemonSet.Is(o.Kind) || n > 0 && up != nil && n <= wanted(up, w.RV)
}

// numberOf returns the number of the place in the name of a Pod, from 1, or 0 if it has none.
func numberOf(s *Scene, o *object.Owner, t *change.Timeline) int {
	n, numbered := 0, false
	switch last := t.Last(); {
	case last == nil || last.Pod == nil:
	case kind.StatefulSet.Is(o.Kind):
		n, numbered = ordinal(t.Ref.Name)
		n -= firstOrdinal(s.Known.Object(o.UID))
	case kind.Job.Is(o.Kind):
		n, numbered = completionIndex(t, o)
	}
	if !numbered {
		return 0
	}
	return n + 1
}

// firstOrdinal returns the ordinal of the first Pod of a StatefulSet.
func firstOrdinal(set *change.Timeline) int { return number(set, "spec.ordinals.start") }

// number returns the number in a field of the newest version of t, or 0. t may be nil.
func number(t *change.Timeline, path string) int {
	if t == nil {
		return 0
	}
	field := t.Last().Field(path)
	if field == nil {
		return 0
	}
	n, _ := strconv.Atoi(field.Shown)
	return n
}

// Departed reports whether the object was lost, and whether a later one has replaced it.
func Departed(s *Scene, t *change.Timeline) (lost, replaced bool) {
	o := s.Known.Controller(t)
	if o == nil {
		return false, false
	}
	for _, known := range placesOf(s, o.UID).losses {
		if known.timeline == t {
			lost, replaced = true, known.replaced
		}
	}
	return lost, replaced
}
