// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Timeline holds everything that is kept of one object: the observations and the conclusions.
type Timeline struct {
	history.Record
	// Audits are the requests of the audit log to the object, or to an object of its name; nil if
	// there are none.
	Audits *Audits
	// Past is the rest of the reconciliations that were handed out and forgotten; nil if there are
	// none.
	Past *Past
	// Recent are the last instant changes that were handed out and forgotten; nil if there are none.
	Recent *Recent
	// Revisable are the claims about handed-out reconciliations that may be revised; nil without one.
	Revisable *Revisable
}

// Heard returns the latest time of the removal, the Events, the requests and the Past of t.
func (t *Timeline) Heard() time.Time {
	var at time.Time
	if t.Removal != nil {
		at = t.Removal.Seen
	}
	if t.Past != nil {
		at = history.Later(at, t.Past.Activity)
	}
	for _, e := range t.Events {
		at = history.Later(at, e.Seen)
	}
	for _, w := range t.Requests() {
		at = history.Later(at, w.End)
	}
	return at
}

// Held returns the number of stored writes of the object that are still kept.
func (t *Timeline) Held() uint64 {
	n := uint64(0)
	if t.Past != nil && t.Past.Gone {
		return n
	}
	for _, v := range t.Versions {
		if !v.Baseline {
			n++
		}
	}
	if t.Removal != nil {
		n++
	}
	return n
}

// Idle reports whether t has nothing to show in a trace and nothing to forget: it is an unchanged
// baseline version. rebuild means that converged objects are reconstructed, too.
func (t *Timeline) Idle(rebuild bool) bool {
	return t.Removal == nil && len(t.Events)+len(t.Requests()) == 0 && t.Audits == nil && len(t.Versions) == 1 &&
		t.Versions[0].Baseline &&
		(t.Folded || !t.reconstructs(t.Versions[0], rebuild))
}

// Before reports whether the object of t was created before w, the creation of another object.
func (t *Timeline) Before(w *Write) bool {
	v := t.Versions[0]
	if v.Baseline {
		return !v.Created.After(w.Version.Created)
	}
	return v.ResourceVersion < w.RV
}

// Audits holds requests of the audit log, in order of time. Most timelines have none.
type Audits struct {
	List []*observation.Write
	// Joined holds the writes made by these requests; nil until derived.
	Joined *audit.Joins `state:"-"`
	// HandedOut are the resourceVersions of the handed-out writes that only these requests show.
	HandedOut []uint64
}

// handedOut reports whether the resourceVersion is in HandedOut.
func (a *Audits) handedOut(rv uint64) bool {
	return a != nil && slices.Contains(a.HandedOut, rv)
}

// ForgetAudits removes the requests of the audit log for which forgets returns true. A version that arrived after
// its request keeps the mark of that.
func (t *Timeline) ForgetAudits(forgets func(*observation.Write) bool) {
	a := t.Audits
	a.List = slices.DeleteFunc(a.List, forgets)
	a.HandedOut = slices.DeleteFunc(a.HandedOut, func(rv uint64) bool {
		if slices.ContainsFunc(a.List, func(w *observation.Write) bool { return w.ResourceVersion == rv }) {
			return false
		}
		for _, v := range t.Versions {
			v.HandedOut = v.HandedOut || v.ObjectVersion() == rv
		}
		return true
	})
}
