// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// collected says why the garbage collector removed an object whose owner was not removed: the owner is in another
// namespace, or does not exist. It returns "" for any other deletion.
func (b *Builder) collected(r *change.Reconciliation) string {
	author := cause.Author(b.scene, r.First())
	if author != "" && author != change.Collector {
		return ""
	}
	text := ""
	for _, o := range r.First().Owners() {
		up := b.known.Object(o.UID)
		exists := up != nil && up.Removal == nil && up.Last() != nil
		switch {
		case exists && up.Ref.Namespace != "" && up.Ref.Namespace != r.Timeline.Ref.Namespace:
			text = "its owner " + named(up.Ref) + " is in another namespace"
		case exists:
			return "" // an owner is left
		case author != "" && text == "":
			text = "its owner " + o.Kind.Kind + " " + o.Name + " does not exist"
		}
	}
	return span.Bound(text)
}

// named returns an object as "ConfigMap shop/settings".
func named(o object.Ref) string { return o.Kind.Kind + " " + o.Namespace + "/" + o.Name }
