// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// linkQuota is the reason of a link from a created object to the change of the quota that had refused
// it.
const linkQuota = "quota"

// byQuota is rule C4 for an object that a quota had refused. It links to the change of the quota, or to
// its deletion. It never finds a cause: the owner wanted the object before.
func (f *Finder) byQuota(w *change.Write) (Cause, bool, []span.Link) {
	if w.Verb != history.Created {
		return Cause{}, false, nil
	}
	up := f.refusedOwner(w)
	if up == nil {
		return Cause{}, false, nil
	}
	var links []span.Link
	for _, relation := range up.Refers {
		if relation.Type != object.Quota {
			continue
		}
		var last *change.Reconciliation
		for _, quota := range f.Named(relation.To) {
			for _, r := range f.History(quota.Ref.UID) {
				if r.Verb != history.Created && r.First().RV < w.RV && f.refused(up, relation.To.Name, r.First().RV) &&
					(last == nil || r.First().RV > last.First().RV) {
					last = r
				}
			}
		}
		if last != nil && f.nextBatch(up, w, last.First().RV) {
			links = append(links, last.Link(linkQuota))
		}
	}
	return Cause{}, false, links
}

// refusedOwner returns the controller owner of the object of w if a quota refused its dependants, or
// nil.
func (f *Finder) refusedOwner(w *change.Write) *change.Timeline {
	o := f.Controller(w.Timeline)
	if o == nil {
		return nil
	}
	up := f.Object(o.UID)
	if up == nil || !slices.ContainsFunc(up.Refers, func(r object.Relation) bool { return r.Type == object.Quota }) {
		return nil
	}
	return up
}

// refused reports whether the quota refused dependants of the object just before the resourceVersion rv:
// by the object's condition, or by an Event after the last creation.
func (f *Finder) refused(up *change.Timeline, quota string, rv uint64) bool {
	i, _ := up.Position(rv)
	if i > 0 && change.RefusingQuota(up.Versions[i-1]) == quota {
		return true
	}
	made := uint64(0)
	for _, t := range f.Dependants(up.Ref.UID) {
		if born := birth(t); born < rv {
			made = max(made, born)
		}
	}
	return slices.ContainsFunc(up.Events, func(e *history.Event) bool {
		return e.ResourceVersion > made && e.ResourceVersion < rv && change.RefusedBy(e, quota)
	})
}

// nextBatch reports whether w is among the first creations of dependants after the resourceVersion rv. A
// controller creates several, and then writes the owner's status.
func (f *Finder) nextBatch(up *change.Timeline, w *change.Write, rv uint64) bool {
	first := w.RV
	for _, t := range f.Dependants(up.Ref.UID) {
		if born := birth(t); born > rv {
			first = min(first, born)
		}
	}
	i, _ := up.Position(first)
	return i == len(up.Versions) || up.Versions[i].ResourceVersion > w.RV
}

// birth returns the resourceVersion of the creation of an object, or of its oldest known version; 0
// without one.
func birth(t *change.Timeline) uint64 {
	if len(t.Versions) == 0 {
		return 0
	}
	return t.Versions[0].ResourceVersion
}
