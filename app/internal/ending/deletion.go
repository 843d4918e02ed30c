// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byDeletion ends a deletion when the object and its dependants are gone (rules C3b and L6).
func byDeletion(e *Endings, r *change.Reconciliation) (change.Ending, state) {
	gone := r.Timeline.Removal
	switch {
	case r.Verb != history.Deleted:
		return change.Ending{}, undecided
	case gone == nil:
		return byPatience(e, r)
	}
	at, first := e.trail.Gone(r.Timeline), r.First()
	if first.Verb == history.Deleted && first.RV == gone.RV && first.Request != nil {
		at = history.Moment{Lo: first.Request.End, Hi: first.Request.End, Exact: span.TimeRequest}
	}
	for _, dep := range e.known.Dependants(r.Timeline.Ref.UID) {
		if dep.Removal == nil && owns(r.Timeline.Ref.UID, dep) {
			return change.Ending{}, open
		}
	}
	at, s := e.afterEffects(r, at)
	return end(at, span.Deleted, s)
}

// owns reports whether the newest version of t still has uid among its owners.
func owns(uid types.UID, t *change.Timeline) bool {
	last := t.Last()
	if last == nil {
		return false
	}
	for _, o := range last.Owners {
		if o.UID == uid {
			return true
		}
	}
	return false
}
