// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// newRole reports whether w makes the first dependant of its role since the last change of the owner,
// r. Such a dependant belongs to that change however long its controller took, where the owner's kind
// does not show when it has converged. A quiet window decides only about further ones.
func (d *derivation) newRole(w *write, r *reconciliation, o *object.Owner) bool {
	began := r.began()
	if w.verb != created || w.v == nil || began.IsZero() {
		return false
	}
	for _, t := range d.sameRole(o.UID, w) {
		if t != w.t && !t.versions[0].Created.Before(began) && t.before(w) {
			return false
		}
	}
	return true
}

// sameRole returns the dependants of an owner that play the role of the one that w made, in order.
func (d *derivation) sameRole(owner types.UID, w *write) []*timeline {
	of := d.roles[owner]
	if of == nil {
		of = map[string][]*timeline{}
		for _, t := range d.engine.dependantsOf(owner) {
			if len(t.versions) > 0 {
				key := t.ref.Kind.Group + "/" + t.ref.Kind.Kind + "/" + role(t, t.versions[0])
				of[key] = append(of[key], t)
			}
		}
		d.roles[owner] = of
	}
	return of[w.t.ref.Kind.Group+"/"+w.t.ref.Kind.Kind+"/"+role(w.t, w.v)]
}

// began is the second of r's first write, zero if it is not known.
func (r *reconciliation) began() time.Time {
	switch {
	case !r.folded:
		return r.first().at.at().Truncate(time.Second)
	case r.t.past.began > 0:
		return time.Unix(r.t.past.began, 0)
	}
	return time.Time{}
}

// before reports whether the object of t was made before w.
func (t *timeline) before(w *write) bool {
	v := t.versions[0]
	if v.baseline {
		return !v.Created.After(w.v.Created)
	}
	return v.ResourceVersion < w.rv
}

// role is the part that a dependant plays for its owner, by its name: web-0 and web-1, or web-x7f2q and
// web-b9kzt with a generated name, play one part; web-primary and web-replica two.
func role(t *timeline, v *version) string {
	if v.GenerateName != "" {
		return v.GenerateName
	}
	i := strings.LastIndexByte(t.ref.Name, '-')
	if i > 0 && strings.ContainsAny(t.ref.Name[i:], "0123456789") {
		return t.ref.Name[:i+1]
	}
	return t.ref.Name
}
