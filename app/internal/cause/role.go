// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// newRole reports whether w creates the first dependant of its role since r, the last change of the
// owner. Such a dependant belongs to r after any delay of its controller, for an owner of a kind
// without a convergence signal. A quiet window decides only about further dependants of the role.
func (f *Finder) newRole(w *change.Write, r *change.Reconciliation, o *object.Owner) bool {
	began := r.Began()
	if w.Verb != history.Created || w.Version == nil || began.IsZero() {
		return false
	}
	for _, t := range f.sameRole(o.UID, w) {
		if t != w.Timeline && !t.Versions[0].Created.Before(began) && t.Before(w) {
			return false
		}
	}
	return true
}

// lateUpdate bounds the delay of an operator's update after a change of the owner.
const lateUpdate = time.Minute

// firstUpdate reports whether w is the first change of a dependant since r, the last change of the
// owner, within a minute. For an owner of a kind without a convergence signal, such an update belongs to r. A
// change by somebody else in between would be its cause.
func (f *Finder) firstUpdate(w *change.Write, r *change.Reconciliation) bool {
	began, uid := r.Began(), w.Timeline.Ref.UID
	if w.Verb != history.Updated || r.Verb == history.Deleted || began.IsZero() ||
		w.At.At().Sub(began) > lateUpdate {
		return false
	}
	since := func(c *change.Reconciliation) bool { return c.First().RV > r.First().RV && c.First().RV < w.RV }
	return !slices.ContainsFunc(f.History(uid), since) && !slices.ContainsFunc(f.Instants(uid), since)
}

// sameRole returns the dependants of an owner in the role of w's object, in order.
func (f *Finder) sameRole(owner types.UID, w *change.Write) []*change.Timeline {
	of := f.roles[owner]
	if of == nil {
		of = map[string][]*change.Timeline{}
		for _, t := range f.Dependants(owner) {
			if len(t.Versions) > 0 {
				key := t.Ref.Kind.Group + "/" + t.Ref.Kind.Kind + "/" + role(t, t.Versions[0])
				of[key] = append(of[key], t)
			}
		}
		f.roles[owner] = of
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
