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
	versions []*version
	removal  *removal
	events   []*event
	requests []*observation.Write
	// audits are the requests of the audit log that stored something of it, or
	// of what has its name.
	audits *audits
	// past is what is left of reconciliations that were taken and forgotten.
	past *past
	// folded: older versions were forgotten.
	folded bool
	// above are the owners as last known; the engine's index goes by them.
	above []object.Owner
}

// audits are requests of the audit log, in order of time; most timelines have
// none.
type audits struct {
	list []*observation.Write
	// joined is what they made, nil if that is to be found out.
	joined *joins
}

// removal is the end of an object.
type removal struct {
	rv     uint64
	seen   time.Time
	listed bool
	// told: Take has handed out a trace that tells of it.
	told bool
}

func (e *Engine) timeline(ref object.Ref) *timeline {
	t := e.objects[ref.UID]
	if t == nil {
		t = &timeline{ref: e.shared.ref(ref)}
		e.objects[ref.UID] = t
	}
	return t
}

// state adds a version. It returns the number of versions and of baseline versions that t has more.
func (t *timeline) state(o *observation.Observation, s *shared) (versions, baselines int) {
	if t.ref != o.State.Ref {
		// An Event may name its object by kind and UID alone; the state knows
		// best.
		t.ref = s.ref(o.State.Ref)
	}
	i, found := t.position(o.State.ResourceVersion)
	if found {
		known := t.versions[i]
		was := known.baseline
		// The oldest version that is kept of a folded object stays its baseline.
		known.baseline = known.baseline && (o.Baseline || t.folded && i == 0)
		known.late = known.late || o.Late
		known.seen, known.listed = firstSeen(known.seen, known.listed, o.Seen, o.Listed)
		if was && !known.baseline {
			baselines = -1
		}
		return 0, baselines
	}
	var before *version
	if i > 0 {
		before = t.versions[i-1]
	}
	t.versions = slices.Insert(t.versions, i, s.version(t, o, before))
	if o.Baseline {
		baselines = 1
	}
	return 1, baselines
}

// position finds a version by its resourceVersion, or where it would be.
func (t *timeline) position(rv uint64) (int, bool) {
	return slices.BinarySearchFunc(
		t.versions,
		rv,
		func(v *version, rv uint64) int { return cmp.Compare(v.ResourceVersion, rv) },
	)
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

func (t *timeline) event(o *observation.Observation, s *shared) {
	i, found := slices.BinarySearchFunc(t.events, o.Event.ResourceVersion, func(e *event, rv uint64) int {
		return cmp.Compare(e.ResourceVersion, rv)
	})
	if found {
		known := t.events[i]
		known.seen, known.listed = firstSeen(known.seen, known.listed, o.Seen, o.Listed)
		return
	}
	t.events = slices.Insert(t.events, i, s.occurrence(o))
}

func (t *timeline) request(w *observation.Write) {
	i, found := slices.BinarySearchFunc(t.requests, w, func(a, b *observation.Write) int {
		return cmp.Or(
			a.Start.Compare(b.Start),
			cmp.Compare(a.TraceParent, b.TraceParent),
			cmp.Compare(a.AuditID, b.AuditID),
		)
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
	return t.versions[len(t.versions)-1]
}

// owners returns the owners as last known.
func (t *timeline) owners() []object.Owner { return t.above }
