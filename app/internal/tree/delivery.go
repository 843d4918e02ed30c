// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// delivery returns the attributes of a change by a tool of continuous delivery: its revision, or the
// drift that it corrects. It returns nothing for other changes.
func (b *Builder) delivery(r *change.Reconciliation) []attribute.KeyValue {
	var out []attribute.KeyValue
	if v := r.Last().Version; v != nil && v.Revision != nil && applies(r) {
		out = append(out, span.KeyRevision.String(span.Bound(v.Revision.ID)))
		if v.Revision.By != "" {
			out = append(out, span.KeyRevisionUser.String(span.Bound(v.Revision.By)))
		}
	}
	if of := b.driftOf(r); of != nil {
		out = append(out, span.KeyDrift.String(span.Bound(of.Ref.Kind.Kind+" "+of.Ref.Name)))
	}
	return out
}

// driftOf returns the object of the tool with the drift that r corrects, or nil. Argo CD applies its
// Application again for that, and Flux writes the objects alone.
func (b *Builder) driftOf(r *change.Reconciliation) *change.Timeline {
	if v := r.Last().Version; v != nil && v.Revision != nil && v.Revision.Heals && applies(r) {
		return r.Timeline
	}
	if r.Parent != nil {
		return nil
	}
	return cause.Drift(b.scene, r.First())
}

// applies reports whether r publishes or applies a revision. A change of the labels of a Kustomization
// does not.
func applies(r *change.Reconciliation) bool {
	kind := r.Timeline.Ref.Kind
	if !change.ByStatus(kind) {
		return !r.Instant
	}
	return r.BeganRevision()
}
