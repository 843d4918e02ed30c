// SPDX-License-Identifier: Apache-2.0

// Package history holds the observed facts about each object: its stored versions, its Events, its
// requests and its removal, with their times. Data common to several versions is kept once. The
// facts of an object are sets, so the order of observations does not matter. Writes,
// reconciliations and causes are not here: packages change and lifecycle derive them.
package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Record holds the observations of one object: its stored versions in order of resourceVersion, its
// removal, its Events and its requests. Each is a set: adding is commutative and idempotent.
type Record struct {
	Ref      object.Ref
	Versions []*Version
	Removal  *Removal
	Events   []*Event
	// Folded means that older versions were forgotten.
	Folded bool
	// Aftermath is the number of the aftermath that counts the incidents of the Pod; 0 without one. Beside Folded it
	// needs no memory.
	Aftermath int32
	// Above are the last known owners. The engine's index of dependants uses them.
	Above []object.Owner `state:"-"`
	// Extra holds the requests, the last known relations and the names; nil without any of these.
	Extra *RecordExtra
}

// Removal is the removal of an object from storage.
type Removal struct {
	// RV is the resourceVersion of the removal. If only a list showed that the object is missing,
	// it is the list's, and Listed is set.
	// Foreign is as in Version.
	RV, Foreign uint64
	// Seen is the time of the observation.
	Seen time.Time
	// Listed means that only a list showed the removal.
	Listed bool
	// HandedOut means that Take has handed out a trace with the removal.
	HandedOut bool
}

// Kind returns the description of the object's kind.
func (t *Record) Kind() *kind.Kind { return kind.Of(t.Ref.Group, t.Ref.Kind.Kind) }

// State adds a version. It returns the change in the number of versions, and in the number of
// baseline versions. The latter is -1 if a known version is no longer a baseline.
func (t *Record) State(o *observation.Observation, s *Shared) (versions, baselines int) {
	if t.Ref != o.State.Ref {
		// The reference of an Event may have only a kind and a UID. That of a state is complete.
		t.Ref = s.Ref(o.State.Ref)
	}
	i, found := t.Position(o.State.ResourceVersion)
	if o.State.Order != 0 {
		i, found = t.positionOf(o.State.ResourceVersion)
	}
	if found {
		known := t.Versions[i]
		was := known.Baseline
		if o.State.Order != 0 {
			t.moveTo(i, min(known.ResourceVersion, o.State.Order))
		}
		// The oldest version of a folded object stays its baseline.
		known.Baseline = known.Baseline && (o.Baseline || t.Folded && i == 0)
		known.Late = known.Late || o.Late
		known.Seen, known.Listed = firstSeen(known.Seen, known.Listed, o.Seen, o.Listed)
		if was && !known.Baseline {
			baselines = -1
		}
		return 0, baselines
	}
	var before *Version
	if i > 0 {
		before = t.Versions[i-1]
	}
	t.Versions = slices.Insert(t.Versions, i, s.version(&t.Ref, o, before))
	if o.State.Order != 0 {
		t.moveTo(i, o.State.Order)
	}
	if o.Baseline {
		baselines = 1
	}
	return 1, baselines
}

// At returns the version rv, or nil.
func (t *Record) At(rv uint64) *Version {
	if i, found := t.Position(rv); found {
		return t.Versions[i]
	}
	return nil
}

// Position returns the index of the version rv, and true. Without such a version it returns the
// index of its place in the order, and false.
func (t *Record) Position(rv uint64) (int, bool) {
	if last := t.Last(); last == nil || last.ResourceVersion < rv {
		return len(t.Versions), false // as for most observations
	}
	return slices.BinarySearchFunc(
		t.Versions,
		rv,
		func(v *Version, rv uint64) int { return cmp.Compare(v.ResourceVersion, rv) },
	)
}

// firstSeen returns the better of two observations: a live arrival before one from a list, then the
// earlier one.
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

// Gone adds the removal of the object. It prefers a removal from a live watch to one from a list,
// and then the one of the lower resourceVersion.
func (t *Record) Gone(o *observation.Observation) {
	if t.Ref.Kind == (object.Kind{}) {
		t.Ref = o.Gone.Ref
	}
	r := &Removal{Seen: o.Seen, Listed: o.Listed}
	r.RV, r.Foreign = split(o.Gone.ResourceVersion, o.Gone.Order)
	if last := t.Last(); r.Foreign != 0 && last != nil {
		r.RV = max(r.RV, last.ResourceVersion+1)
	}
	switch known := t.Removal; {
	case known == nil:
		t.Removal = r
	case known.Listed && !r.Listed, known.Listed == r.Listed && r.RV < known.RV:
		t.Removal = r
	case known.RV == r.RV:
		known.Seen, known.Listed = firstSeen(known.Seen, known.Listed, r.Seen, r.Listed)
	}
}

// Event adds an occurrence of a Kubernetes Event. A known occurrence only gets the better
// observation time.
func (t *Record) Event(o *observation.Observation, s *Shared) {
	place, foreign := split(o.Event.ResourceVersion, o.Event.Order)
	for _, e := range t.Events {
		if foreign != 0 && e.Foreign == foreign {
			place = e.ResourceVersion // a list gives it another place
		}
	}
	i, found := slices.BinarySearchFunc(t.Events, place, func(e *Event, place uint64) int {
		return cmp.Or(cmp.Compare(e.ResourceVersion, place), cmp.Compare(e.Foreign, foreign))
	})
	if found {
		known := t.Events[i]
		known.Seen, known.Listed = firstSeen(known.Seen, known.Listed, o.Seen, o.Listed)
		return
	}
	t.Events = slices.Insert(t.Events, i, s.Occurrence(o))
}

// Request adds a request. Requests are in order of start, trace context and audit ID. A known one
// is not added again.
func (t *Record) Request(w *observation.Write) {
	i, found := slices.BinarySearchFunc(t.Requests(), w, func(a, b *observation.Write) int {
		return cmp.Or(
			a.Start.Compare(b.Start),
			cmp.Compare(a.TraceParent, b.TraceParent),
			cmp.Compare(a.AuditID, b.AuditID),
		)
	})
	if !found {
		t.SetRequests(slices.Insert(t.Requests(), i, w))
	}
}

// RequestAt returns the successful request with the object's resourceVersion rv in its response, or nil. Of
// two such requests, the first made the version and the second changed nothing.
func (t *Record) RequestAt(rv uint64) *observation.Write {
	for _, w := range t.Requests() {
		if w.ResourceVersion == rv && !w.Failed() {
			return w
		}
	}
	return nil
}

// Last returns the newest version, or nil.
func (t *Record) Last() *Version {
	if len(t.Versions) == 0 {
		return nil
	}
	return t.Versions[len(t.Versions)-1]
}

// Owners returns the last known owners.
func (t *Record) Owners() []object.Owner { return t.Above }

// Baseline makes the oldest kept version the baseline, and marks the record as folded. The record
// must have a version.
func (t *Record) Baseline() {
	t.Versions[0].Baseline = true
	t.Folded = true
}

// NewestOwners returns the owners of the newest version with owners, or nil.
func (t *Record) NewestOwners() []object.Owner {
	for i := len(t.Versions) - 1; i >= 0; i-- {
		if o := t.Versions[i].Owners; len(o) > 0 {
			return o
		}
	}
	return nil
}
