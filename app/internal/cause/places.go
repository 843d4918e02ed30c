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

// places are the places of the dependants of one owner (rule D4), in order. A new dependant fills the place that was
// freed first, or else a new one. A decrease of the owner's number removes free places.
type places struct {
	all []*place
	// losses are all losses of dependants, oldest first.
	losses []*departure
}

// place is one place.
type place struct {
	// key names the dependants that may fill the place. number is that of the place, from 1, if it is in their
	// names; else 0.
	key    string
	number int
	// holder fills the place, and since is the resourceVersion of its creation. It is nil for a free place.
	holder *change.Timeline
	since  uint64
	// freed is the resourceVersion at which the holder left. lost is its loss, or nil. again means that its
	// controller removed it, and fills the place again.
	freed uint64
	lost  *departure
	again bool
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
	p := &places{}
	put(&s.places, owner, p)
	for _, t := range s.Known.Dependants(owner) {
		o := s.Known.Controller(t)
		if o == nil || o.UID != owner || len(t.Versions) == 0 {
			continue
		}
		at := newPlace(s, o, t)
		switch first, past := t.Versions[0], t.Past; {
		case past != nil && past.Gone && past.Lost:
			at.freed = past.RV
			at.lost = &departure{timeline: t, rv: past.RV, last: s.Placed.Current(t.Ref.UID), replaced: past.Replaced}
			p.losses = append(p.losses, at.lost)
		case !first.Baseline || !Alive(first) || !slices.Contains(first.Owners, *o):
			continue
		}
		p.all = append(p.all, at)
	}
	slices.SortFunc(p.losses, func(a, b *departure) int { return cmp.Compare(a.rv, b.rv) })
	slices.SortFunc(p.all, func(a, b *place) int {
		x, y := a.holder, b.holder
		return cmp.Or(x.Versions[0].Created.Compare(y.Versions[0].Created), cmp.Compare(x.Ref.UID, y.Ref.UID))
	})
	p.all = slices.DeleteFunc(p.all, func(at *place) bool { return at.lost != nil && at.lost.replaced })
	for _, at := range p.all {
		if at.lost != nil {
			at.holder = nil
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

// newPlace returns a place with t as its holder.
func newPlace(s *Scene, o *object.Owner, t *change.Timeline) *place {
	return &place{key: keyOf(o, t), number: numberOf(s, o, t), holder: t}
}

// next returns the place that a new dependant t fills, and its number. The place is nil if it is a new one.
func (p *places) next(s *Scene, o *object.Owner, t *change.Timeline) (free *place, number int) {
	key, n := keyOf(o, t), 0
	for _, at := range p.all {
		if at.key != key {
			continue
		}
		if n++; at.holder == nil && (free == nil || at.freed < free.freed) {
			free, number = at, n
		}
	}
	if free == nil {
		number = n + 1
	}
	return free, cmp.Or(numberOf(s, o, t), number)
}

// anyPod is the key of the Pods that replace each other.
const anyPod = "/Pod"

// held returns the number of filled places for such Pods.
func (p *places) held() int {
	n := 0
	for _, at := range p.all {
		if at.holder != nil && at.key == anyPod {
			n++
		}
	}
	return n
}

// shrink removes the free places above the number n, at the resourceVersion rv: nothing replaces their losses.
func (p *places) shrink(n int, rv uint64) {
	all := 0
	for _, at := range p.all {
		if at.key == anyPod {
			all++
		}
	}
	for i, at := range slices.Backward(p.all) {
		if at.holder != nil || at.number <= n && (at.key != anyPod || all <= n) {
			continue
		}
		if at.lost != nil {
			at.lost.replaced, at.lost.by = true, rv
		}
		if p.all = slices.Delete(p.all, i, i+1); at.key == anyPod {
			all--
		}
	}
}

// Occupy records how w, a placed write, changes the places of its object's owners, and those of its own dependants.
func Occupy(s *Scene, w *change.Write) {
	if w.Reconstructed || w.Version == nil && w.Verb != history.Deleted {
		return
	}
	if w.Verb == history.Updated && w.Part == change.Desired && len(s.Known.Dependants(w.Timeline.Ref.UID)) > 0 {
		if to := wanted(w.Timeline, w.RV+1); to >= 0 && to < wanted(w.Timeline, w.RV) {
			placesOf(s, w.Timeline.Ref.UID).shrink(to, w.RV)
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
	at, _ := p.next(s, o, w.Timeline)
	if at == nil {
		at = &place{}
		p.all = append(p.all, at)
	}
	if at.lost != nil && !edited(at.lost.timeline, w.Timeline) {
		at.lost.replaced, at.lost.by = true, w.RV
	}
	*at = *newPlace(s, o, w.Timeline)
	at.since = w.RV
}

// leave frees the place of the object of w. Without an action of its controller, the object is lost.
func leave(s *Scene, w *change.Write, o *object.Owner) {
	p := placesOf(s, o.UID)
	i := slices.IndexFunc(p.all, func(at *place) bool { return at.holder == w.Timeline })
	if i < 0 {
		return
	}
	at := p.all[i]
	at.holder, at.freed = nil, w.RV
	last := s.Placed.Current(w.Timeline.Ref.UID)
	switch deleted := w.Verb == history.Deleted; {
	case deleted && removed(w, o, last):
		if at.again = refilled(s, w, o); !at.again {
			p.all = slices.Delete(p.all, i, i+1)
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
				p.shrink(n, w.RV)
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
func firstOrdinal(set *change.Timeline) int {
	if set != nil && set.Last() != nil {
		if start := set.Last().Field("spec.ordinals.start"); start != nil {
			n, _ := strconv.Atoi(start.Shown)
			return n
		}
	}
	return 0
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
