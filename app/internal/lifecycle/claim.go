// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline"
)

// foreign says by its claim why a context is not for this write, or is empty:
// it was made for another object, another desired state or another time.
func (d *derivation) foreign(o *origination) string {
	c := o.claim
	if c.Object != 0 {
		mine, generation := c.Names(identity(o.t, o.v.GenerateName)), o.v.Generation
		switch counted := mine && c.Generation > 0 && generation > 0; {
		case !mine && !d.namesOwner(c, o.t):
			return linkStale
		case counted && c.Generation < generation:
			return linkSuperseded
		case counted && c.Generation > generation:
			return linkStale // it was saved, and the object made anew
		}
	}
	if !c.Time.IsZero() && o.at.at().Sub(c.Time) > stale {
		return linkStale
	}
	return ""
}

// namesOwner reports whether the claim was made for an object above t, whose
// controllers have copied it.
func (d *derivation) namesOwner(c lifeline.Claim, t *timeline) bool {
	for range 16 {
		owners := t.owners()
		for _, o := range owners {
			id := lifeline.Identity{
				Group:     o.Group,
				Kind:      o.Kind.Kind,
				Namespace: t.ref.Namespace,
				Name:      o.Name,
				UID:       string(o.UID),
			}
			if c.Names(id) {
				return true
			}
			if id.Namespace = ""; c.Names(id) { // a dependant in a Namespace may have an owner in none
				return true
			}
		}
		up := d.engine.controllerOf(t)
		if up == nil {
			return false
		}
		if t = d.engine.objects[up.UID]; t == nil {
			return false
		}
	}
	return false
}

func identity(t *timeline, generateName string) lifeline.Identity {
	return lifeline.Identity{
		Group: t.ref.Group, Kind: t.ref.Kind.Kind, Namespace: t.ref.Namespace,
		Name: t.ref.Name, GenerateName: generateName, UID: string(t.ref.UID),
	}
}
