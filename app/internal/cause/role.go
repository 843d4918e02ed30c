// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// newRole reports whether w creates the first dependant of its role since r, the last change of the
// owner. Such a dependant belongs to r after any delay of its controller, for an owner of a kind
// without a convergence signal. A quiet window decides only about further dependants of the role.
func newRole(s *Scene, w *change.Write, r *change.Reconciliation, o *object.Owner) bool {
	began := r.Began()
	if w.Verb != history.Created || w.Version == nil || began.IsZero() {
		return false
	}
	for _, t := range sameRole(s, o.UID, w) {
		if t != w.Timeline && !t.Versions[0].Created.Before(began) && t.Before(w) {
			return false
		}
	}
	return true
}

// lateUpdate bounds the delay of an operator's update after a change of the owner, in seconds.
const lateUpdate = 60

// firstUpdate reports whether w is the first change of a dependant since r, the last change of the
// owner o, within a minute by their timestamps. For an owner of a kind without a convergence signal, such an
// update belongs to r. The loss of a dependant since r, or somebody else's change of one, may be its cause instead.
func firstUpdate(s *Scene, w *change.Write, r *change.Reconciliation, o *object.Owner) bool {
	began := r.Second()
	if w.Verb != history.Updated || r.Verb == history.Deleted || began == 0 || w.Second() == 0 ||
		w.Second()-began > lateUpdate {
		return false
	}
	since := func(rv uint64) bool { return rv > r.First().RV && rv < w.RV }
	if slices.ContainsFunc(placesOf(s, o.UID).losses, func(lost *departure) bool { return since(lost.rv) }) {
		return false
	}
	for _, t := range s.Known.Dependants(o.UID) {
		other := func(c *change.Reconciliation) bool {
			return since(c.First().RV) && (t == w.Timeline || c.Lineage != r.Lineage)
		}
		if slices.ContainsFunc(s.Placed.History(t.Ref.UID), other) ||
			slices.ContainsFunc(s.Placed.Instants(t.Ref.UID), other) {
			return false
		}
	}
	return true
}

// sameRole returns the dependants of an owner in the role of w's object, in order.
func sameRole(s *Scene, owner types.UID, w *change.Write) []*change.Timeline {
	of := s.roles[owner]
	if of == nil {
		of = map[string][]*change.Timeline{}
		for _, t := range s.Known.Dependants(owner) {
			if len(t.Versions) > 0 {
				key := t.Ref.Kind.Group + "/" + t.Ref.Kind.Kind + "/" + role(t, t.Versions[0])
				of[key] = append(of[key], t)
			}
		}
		put(&s.roles, owner, of)
	}
	return of[w.Timeline.Ref.Kind.Group+"/"+w.Timeline.Ref.Kind.Kind+"/"+role(w.Timeline, w.Version)]
}

// role returns the role of a dependant for its owner, by its name. web-0 and web-1 have one role,
// and so do web-x7f2q and web-b9kzt with a generated name. web-primary and web-replica have two.
func role(t *change.Timeline, v *history.Version) string {
	if v.GenerateName != "" {
		return v.GenerateName
	}
	i := strings.LastIndexByte(t.Ref.Name, '-')
	if i > 0 && strings.ContainsAny(t.Ref.Name[i:], "0123456789") {
		return t.Ref.Name[:i+1]
	}
	return t.Ref.Name
}
