// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// scheduled returns the cause of a write by a controller with a schedule. Each created object is a
// separate change, with a link to the last change of the schedule. The removal of an old object that
// has ended belongs to the newest one.
func scheduled(s *Scene, w *change.Write, o *object.Owner, owner *change.Reconciliation) (Cause, bool) {
	switch w.Verb {
	case history.Created:
		c := Cause{Line: newLine(s, w)}
		if owner != nil {
			c.Links = append(c.Links, owner.Link("owner"))
		}
		return c, true
	case history.Deleted:
		if r := latestRun(s, w, o); r != nil && hasRun(w) {
			return Cause{Line: r.Lineage, Parent: r, Evidence: span.ByTime}, true
		}
	}
	return Cause{}, false
}

// latestRun returns the reconciliation of the newest object of a schedule at the time of w, or nil.
// It is the creation of another object than that of w, in a trace still open.
func latestRun(s *Scene, w *change.Write, o *object.Owner) *change.Reconciliation {
	var newest *change.Reconciliation
	for _, t := range s.Known.Dependants(o.UID) {
		if t == w.Timeline || t.Removal != nil && t.Removal.RV < w.RV {
			continue
		}
		r := s.Placed.Current(t.Ref.UID)
		if r == nil || r.Verb != history.Created || !StillOpen(s, r.Lineage, w) {
			continue
		}
		if newest == nil || r.First().RV > newest.First().RV {
			newest = r
		}
	}
	return newest
}

// hasRun reports whether w deletes an object that has converged or failed.
func hasRun(w *change.Write) bool {
	i, _ := w.Timeline.Position(w.RV)
	return i > 0 && (judge.Converged(w.Timeline.Versions[i-1]) || judge.Failure(w.Timeline.Versions[i-1]) != "")
}
