// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// timeline is all that is kept of one object: its stored versions in order of
// resourceVersion, its removal, its Events and the requests that were seen.
// Each is a set: adding is commutative and idempotent.
type timeline struct {
	ref      object.Ref
	versions []version
	removal  *removal
	events   []event
	requests []*observation.Write
	// settled is what is left of reconciliations that were taken and
	// forgotten.
	past *past
}

// version is the object as stored at one resourceVersion, and when that was
// learned.
type version struct {
	*observation.State
	seen     time.Time
	listed   bool
	baseline bool
}

// removal is the end of an object.
type removal struct {
	rv     uint64
	seen   time.Time
	listed bool
}

// event is one occurrence of a Kubernetes Event.
type event struct {
	*observation.Event
	seen   time.Time
	listed bool
}

// past is what a compacted timeline still knows of its last reconciliation.
type past struct {
	rec      reconciliation
	replaced bool
}

func (e *Engine) timeline(ref object.Ref) *timeline {
	t := e.objects[ref.UID]
	if t == nil {
		ref.Name, ref.Namespace = e.intern.str(ref.Name), e.intern.str(ref.Namespace)
		t = &timeline{ref: ref}
		e.objects[ref.UID] = t
	}
	return t
}

func (t *timeline) state(o *observation.Observation, in interner) {
	// An Event names its object by kind and UID alone; the state knows best.
	t.ref = o.State.Ref
	v := version{State: o.State, seen: o.Seen, listed: o.Listed, baseline: o.Baseline}
	i, found := slices.BinarySearchFunc(t.versions, v.ResourceVersion, func(v version, rv uint64) int {
		return cmp.Compare(v.ResourceVersion, rv)
	})
	if found {
		known := &t.versions[i]
		known.baseline = known.baseline && v.baseline
		known.seen, known.listed = firstSeen(known.seen, known.listed, v.seen, v.listed)
		return
	}
	if i > 0 {
		v.State = in.share(v.State, t.versions[i-1].State)
	}
	t.versions = slices.Insert(t.versions, i, v)
}

// firstSeen prefers a live arrival to a list, and then the earlier.
func firstSeen(a time.Time, aListed bool, b time.Time, bListed bool) (time.Time, bool) {
	if aListed != bListed {
		if aListed {
			return b, false
		}
		return a, false
	}
	if b.Before(a) {
		return b, aListed
	}
	return a, aListed
}

func (t *timeline) gone(o *observation.Observation) {
	if t.ref.Kind == (object.Kind{}) {
		t.ref = o.Gone.Ref
	}
	r := &removal{rv: o.Gone.ResourceVersion, seen: o.Seen, listed: o.Listed}
	switch known := t.removal; {
	case known == nil:
		t.removal = r
	case known.listed && !r.listed, known.listed == r.listed && r.rv < known.rv:
		t.removal = r
	case known.rv == r.rv:
		known.seen, known.listed = firstSeen(known.seen, known.listed, r.seen, r.listed)
	}
}

func (t *timeline) event(o *observation.Observation) {
	ev := event{Event: o.Event, seen: o.Seen, listed: o.Listed}
	i, found := slices.BinarySearchFunc(t.events, ev, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.ResourceVersion, b.ResourceVersion), cmp.Compare(a.UID, b.UID))
	})
	if found {
		known := &t.events[i]
		known.seen, known.listed = firstSeen(known.seen, known.listed, ev.seen, ev.listed)
		return
	}
	t.events = slices.Insert(t.events, i, ev)
}

func (t *timeline) request(w *observation.Write) {
	i, found := slices.BinarySearchFunc(t.requests, w, func(a, b *observation.Write) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.TraceParent, b.TraceParent), cmp.Compare(a.AuditID, b.AuditID))
	})
	if !found {
		t.requests = slices.Insert(t.requests, i, w)
	}
}

// requestAt returns the request that made the version rv, or nil. Where two
// claim it, the first made it and the second changed nothing.
func (t *timeline) requestAt(rv uint64) *observation.Write {
	for _, w := range t.requests {
		if w.ResourceVersion == rv && !w.Failed() {
			return w
		}
	}
	return nil
}

// last returns the newest version, or nil.
func (t *timeline) last() *version {
	if len(t.versions) == 0 {
		return nil
	}
	return &t.versions[len(t.versions)-1]
}

// owners returns the owners as last known.
func (t *timeline) owners() []object.Owner {
	for i := len(t.versions) - 1; i >= 0; i-- {
		if o := t.versions[i].Owners; len(o) > 0 {
			return o
		}
	}
	return nil
}
