// SPDX-License-Identifier: Apache-2.0

// Package trail holds what the audit log adds to the observed objects: the request behind each stored write, with
// its times and its user, and the requests without a stored write. It places nothing.
package trail

import (
	"cmp"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Trail is the data of the audit log outside the timelines.
type Trail struct {
	State
	known index.View
	// tally counts the results. doubts counts revised conclusions about audit IDs.
	tally  Stats
	doubts int
}

// State is the part of a Trail that the engine's state has: digests of all requests, writes to objects that are
// unknown or known only by name, and refused writes. Digests and waiting writes have two generations. The
// older one is dropped when the younger one is full or old.
type State struct {
	sightings, earlier map[uint64]sighting
	waiting, longer    map[index.Subject][]*observation.Write
	refusals           map[index.Subject]*Refusals
	// turned is the time of the last change of generations.
	turned time.Time
	// delay is the recent delay of audit events. at is the arrival time of the last one.
	delay time.Duration
	at    time.Time
}

// New returns an empty Trail for the objects in known.
func New(known index.View) *Trail {
	return &Trail{known: known, State: State{
		sightings: map[uint64]sighting{}, earlier: map[uint64]sighting{},
		waiting: map[index.Subject][]*observation.Write{}, longer: map[index.Subject][]*observation.Write{},
		refusals: map[index.Subject]*Refusals{},
	}}
}

// Valid reports whether a restored state has a request wherever one is required.
func (s *State) Valid() bool {
	for _, all := range []map[index.Subject][]*observation.Write{s.waiting, s.longer} {
		for _, list := range all {
			if len(list) == 0 {
				return false
			}
		}
	}
	for _, of := range s.refusals {
		if len(of.Kinds) == 0 ||
			slices.ContainsFunc(of.Kinds, func(r *Refusal) bool { return len(r.Writes) == 0 }) {
			return false
		}
	}
	return true
}

// Bounds of the waiting writes and of the digests.
const (
	MaxWaiting   = 1 << 14
	MaxSightings = 1 << 17
	// maxWrites is the maximum number of waiting writes of one object.
	maxWrites = 4 * MaxLoose
	// maxAge is the age at which a younger generation becomes the older one.
	maxAge = 2 * time.Minute
)

// Wait keeps a write until the first observation of its object. It is also kept for known objects of its name:
// another one may follow. At the bound it drops the oldest one.
func (tr *Trail) Wait(id index.Subject, w *observation.Write) {
	if len(tr.waiting) >= MaxWaiting/2 {
		tr.tally.Dropped += uint64(len(tr.turnWaiting())) // no room
	}
	list := addWrite(tr.waiting[id], w)
	if len(list) > maxWrites {
		list = slices.Delete(list, 0, 1)
		tr.tally.Dropped++
	}
	tr.waiting[id] = list
}

// Waiting returns the writes that waited for the object of t, which is known now.
func (tr *Trail) Waiting(t *change.Timeline) []*observation.Write {
	if len(tr.waiting)+len(tr.longer) == 0 {
		return nil
	}
	var out []*observation.Write
	uid, name := index.Subject{UID: t.Ref.UID}, index.SubjectOf(t)
	for _, all := range []map[index.Subject][]*observation.Write{tr.longer, tr.waiting} {
		out = append(append(out, all[uid]...), all[name]...)
		delete(all, uid)
		for i, w := range all[name] {
			all[name][i] = Claimed(t, w)
		}
	}
	return out
}

// Claimed returns w, or a copy that belongs to no unobserved object, because the object of t may be meant.
func Claimed(t *change.Timeline, w *observation.Write) *observation.Write {
	if !w.Unlisted || !audit.There(&t.Record, w) {
		return w
	}
	out := *w
	out.Unlisted = false
	return &out
}

// turnWaiting drops the writes that have waited longest. It returns those to objects that were never observed,
// because they went before the first list.
func (tr *Trail) turnWaiting() (unseen []*observation.Write) {
	for _, list := range tr.longer {
		for _, w := range list {
			switch {
			case w.Unlisted && audit.ChangesObject(w) && !audit.IsComponent(w.User) && !audit.Unnamed(w) &&
				!tr.Contradicted(w):
				unseen = append(unseen, w)
			default:
				tr.tally.Unmatched++
			}
		}
	}
	tr.longer, tr.waiting = tr.waiting, map[index.Subject][]*observation.Write{}
	slices.SortFunc(unseen, CompareWrites)
	return unseen
}

// Size returns the numbers of waiting writes, refused writes by object, and digests.
func (tr *Trail) Size() (waiting, refused, sightings int) {
	return len(tr.waiting) + len(tr.longer), len(tr.refusals), len(tr.sightings) + len(tr.earlier)
}

// Age drops the old data that is still unused. It returns the writes to objects that were never observed.
func (tr *Trail) Age(now time.Time) (unseen []*observation.Write) {
	if now.Sub(tr.turned) < maxAge {
		return nil
	}
	tr.turned = now
	tr.turnSightings()
	unseen = tr.turnWaiting()
	tr.tally.Found += uint64(len(unseen))
	return unseen
}

// MaxLoose is the maximum number of requests of one object that wait for their stored writes.
const MaxLoose = 256

// Attach adds a write to the timeline of its object. At the bound it drops the oldest one.
func (tr *Trail) Attach(t *change.Timeline, w *observation.Write) {
	if t.Audits == nil {
		t.Audits = &change.Audits{}
	}
	t.Audits.List = addWrite(t.Audits.List, w)
	if len(t.Audits.List) > MaxLoose+len(t.Versions) {
		oldest := t.Audits.List[0]
		t.ForgetAudits(func(w *observation.Write) bool { return w == oldest })
		tr.tally.Dropped++
	}
}

// Doubt discards the joins of the requests to the writes of t. They are then computed again. It reports
// whether there were any requests.
func Doubt(t *change.Timeline) bool {
	if t.Audits == nil {
		return false
	}
	t.Audits.Joined = nil
	return true
}

// addWrite adds a request to the requests of an object, in order of time. If the same request is
// already there, it keeps the more complete of the two.
func addWrite(list []*observation.Write, w *observation.Write) []*observation.Write {
	i := len(list)
	for i > 0 && CompareWrites(list[i-1], w) > 0 {
		i--
	}
	if i > 0 && CompareWrites(list[i-1], w) == 0 {
		known := list[i-1]
		more := known.ResourceVersion == 0 && (w.ResourceVersion > 0 || known.UID == "" && w.UID != "")
		if known.Unauthenticated && !w.Unauthenticated || more && known.Unauthenticated == w.Unauthenticated {
			list[i-1] = w
		}
		return list
	}
	if len(list) >= maxWrites && i == 0 {
		return list // older than all stored requests, and there is not enough room
	}
	return slices.Insert(list, i, w)
}

// CompareWrites orders requests by time.
func CompareWrites(a, b *observation.Write) int {
	return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End), cmp.Compare(a.AuditID, b.AuditID))
}
