// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// foreign returns the reason in the claim against a context as the cause of this write: another
// object, another desired state or another time. It is empty without such a reason.
func foreign(s *Scene, o *origination) string {
	c := o.claim
	if c.Object != 0 {
		v := o.write.Version
		mine, generation := c.Names(identity(o.write.Timeline, v.GenerateName)), v.Generation
		switch counted := mine && c.Generation > 0 && generation > 0; {
		case !mine && !namesOwner(s, c, o.write.Timeline):
			return linkStale
		case counted && c.Generation < generation:
			return linkSuperseded
		case counted && c.Generation > generation:
			return linkStale // from a backup of an earlier object
		}
	}
	if !c.Time.IsZero() && o.write.At.At().Sub(c.Time) > stale {
		return linkStale
	}
	return ""
}

// namesOwner reports whether the claim was made for an object above t. The controllers of such an
// object have copied the context.
func namesOwner(s *Scene, c lifeline.Claim, t *change.Timeline) bool {
	for range 16 {
		owners := t.Owners()
		for _, o := range owners {
			id := lifeline.Identity{
				Group:     o.Group,
				Kind:      o.Kind.Kind,
				Namespace: t.Ref.Namespace,
				Name:      o.Name,
				UID:       string(o.UID),
			}
			if c.Names(id) {
				return true
			}
			if id.Namespace = ""; c.Names(id) { // a namespaced dependant may have a cluster-scoped owner
				return true
			}
		}
		up := s.Known.Controller(t)
		if up == nil {
			return false
		}
		if t = s.Known.Object(up.UID); t == nil {
			return false
		}
	}
	return false
}

// identity returns the identity of the object of t, for a comparison with claims.
func identity(t *change.Timeline, generateName string) lifeline.Identity {
	return lifeline.Identity{
		Group: t.Ref.Group, Kind: t.Ref.Kind.Kind, Namespace: t.Ref.Namespace,
		Name: t.Ref.Name, GenerateName: generateName, UID: string(t.Ref.UID),
	}
}
