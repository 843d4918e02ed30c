// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Parts returns the parts of the desired state that w changed. It returns all parts if they are
// unknown.
func (w *Write) Parts() kind.Part {
	if w.Verb != history.Updated || !w.Changed.Known || !w.Changed.Spec() {
		return kind.Everything
	}
	parts := w.Changed.Parts &^ kind.Metadata
	if before, after := w.Previous.Workload, w.Version.Workload; before != nil && after != nil && before.Paused &&
		!after.Paused {
		parts |= kind.Template // the held template takes effect (rule D7)
	}
	return parts
}

// Loses returns the parts that w takes from r. A raise takes no replicas, a decrease those above
// the new number (rule D3).
func (r *Reconciliation) Loses(w *Write) kind.Part {
	parts := w.Parts()
	if parts&r.Parts&kind.Template != 0 {
		return kind.Everything // the new template brings the rest, too
	}
	if parts&kind.Scale == 0 || parts == kind.Everything || w.Version.Workload == nil || w.Previous.Workload == nil {
		return parts
	}
	to := w.Version.Workload.Replicas
	switch {
	case to > w.Previous.Workload.Replicas, to > r.bottom():
		return parts &^ kind.Scale
	case kind.ReplicaSet.Is(w.Timeline.Ref.Kind):
		return kind.Everything // its template never changes
	}
	return parts
}

// bottom returns the number of replicas before the first write of r, or 0 if there was none.
func (r *Reconciliation) bottom() int32 {
	w := r.First()
	if w.Verb == history.Updated && w.Previous != nil && w.Previous.Workload != nil {
		return w.Previous.Workload.Replicas
	}
	return 0
}

// Desired returns the generation and the number of replicas that r desired; zero if they are unknown. A stand-in has
// those of its claim.
func (r *Reconciliation) Desired() (generation int64, replicas int32) {
	if v := r.Last().Version; v != nil && v.Workload != nil {
		return v.Generation, v.Workload.Replicas
	}
	if r.Folded {
		if of := r.Timeline.Claimed(r.ID()); of != nil && r.Last() == r.First() {
			return of.Generation, of.Replicas
		}
	}
	return 0, 0
}

// AsScaling returns a copy of r, a superseded reconciliation, that is only a change of the number of replicas.
// A change of the template does not supersede it.
func (r *Reconciliation) AsScaling() *Reconciliation {
	is := *r
	is.Took, is.Parts, is.Superseded = kind.Scale, kind.Scale, nil
	return &is
}

// BecomeScaling makes r what AsScaling returns. It goes on beside the one that superseded it.
func (r *Reconciliation) BecomeScaling() {
	by := r.Superseded.Reconciliation
	r.Took, r.Parts, r.Superseded = kind.Scale, kind.Scale, nil
	by.Links = slices.DeleteFunc(by.Links, func(l span.Link) bool { return l.SpanID == r.ID() })
	Beside(r, by)
}
