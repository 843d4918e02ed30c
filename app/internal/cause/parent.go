// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// wanting returns the reconciliation of the owner o that led to the write w of its controller
// (rules D4 and D5), or nil. Most owners have one reconciliation at a time.
func wanting(s *Scene, w *change.Write, o *object.Owner) *change.Reconciliation {
	recs := s.Placed.History(o.UID)
	if len(recs) == 0 {
		return nil
	}
	newest := recs[len(recs)-1]
	if newest.Verb == history.Deleted {
		return newest
	}
	switch {
	case kind.Deployment.Is(o.Kind) && kind.ReplicaSet.Is(w.Timeline.Ref.Kind):
		return cmp.Or(ofReplicaSet(w, recs), newest)
	case hasSlots(o, w.Timeline) && w.Verb == history.Created:
		return ofPlace(s, w, o, recs)
	case hasSlots(o, w.Timeline) && w.Verb == history.Deleted:
		return ofRemoval(s, w, o, recs)
	}
	return newest
}

// hasSlots reports whether t is a Pod of an owner with a number of Pods.
func hasSlots(o *object.Owner, t *change.Timeline) bool {
	return t.Last() != nil && t.Last().Pod != nil &&
		(kind.ReplicaSet.Is(o.Kind) || kind.StatefulSet.Is(o.Kind) || kind.Job.Is(o.Kind))
}

// ofPlace returns the reconciliation that wanted the place of the new Pod of w, or nil. If the controller removed the
// Pod before it, the last change of the template wants the new one.
func ofPlace(s *Scene, w *change.Write, o *object.Owner, recs []*change.Reconciliation) *change.Reconciliation {
	at, n := placesOf(s, o.UID).next(s, o, w.Timeline)
	if at != nil && (at.again || at.lost != nil && otherRevision(at.lost.timeline, w.Timeline)) {
		return cmp.Or(newestOf(recs, kind.Template), recs[len(recs)-1])
	}
	return ofSlot(recs, n)
}

// ofRemoval returns the reconciliation that ended the demand for the Pod of w, or that replaces it.
func ofRemoval(s *Scene, w *change.Write, o *object.Owner, recs []*change.Reconciliation) *change.Reconciliation {
	to := anyNumber
	if n := numberOf(s, o, w.Timeline); n > 0 {
		to = n - 1
	}
	r := scaleDown(recs, to)
	if r != nil && (!kind.Job.Is(o.Kind) || r.OpenAt(w, s.options.Quiet)) {
		return r
	}
	return cmp.Or(newestOf(recs, kind.Template), recs[len(recs)-1])
}

// ofReplicaSet returns the reconciliation of a Deployment for a write to its ReplicaSet, or nil. A
// scaling of the Deployment changes the ReplicaSet's annotation with the Deployment's number of
// replicas. Any other write is a step of a rollout.
func ofReplicaSet(w *change.Write, recs []*change.Reconciliation) *change.Reconciliation {
	switch {
	case w.Verb == history.Created:
		return newestOf(recs, kind.Template)
	case w.Verb != history.Updated:
		return nil
	case w.Changed.Scale:
		if r := newestOf(recs, kind.Scale); r != nil {
			return r
		}
		return foundScaling(recs)
	}
	if r := newestOf(recs, kind.Template); r != nil && r.ConvergedBy(w.RV) == nil {
		return r
	}
	return nil
}

// newestOf returns the newest reconciliation with a change of one of the parts, or nil. A
// superseded one does not count.
func newestOf(recs []*change.Reconciliation, parts kind.Part) *change.Reconciliation {
	for _, r := range slices.Backward(recs) {
		if r.Took&parts != 0 && r.Superseded == nil {
			return r
		}
	}
	return nil
}

// foundScaling returns the reconciliation found under way that a change of a ReplicaSet's number of replicas shows to
// be a scaling, or nil. No later change of the Deployment is its cause.
func foundScaling(recs []*change.Reconciliation) *change.Reconciliation {
	if r := recs[0]; foundUnderWay(r) {
		return r
	}
	return nil
}

func foundUnderWay(r *change.Reconciliation) bool {
	return r.First().Reconstructed && r.Verb == history.Updated && r.Took == kind.Everything
}

// isFoundScaling reports whether r is the result of foundScaling for w. It was superseded by a later change of the
// template, which does not supersede a scaling.
func isFoundScaling(w *change.Write, r *change.Reconciliation) bool {
	return r != nil && kind.Deployment.Is(r.Timeline.Ref.Kind) && kind.ReplicaSet.Is(w.Timeline.Ref.Kind) &&
		w.Verb == history.Updated && w.Changed.Scale && r.Superseded != nil && foundUnderWay(r)
}

// completionIndex returns the completion index of a Pod of the Job o, and whether it has one. The name of
// such a Pod consists of the name of the Job, the index and a generated end.
func completionIndex(t *change.Timeline, o *object.Owner) (int, bool) {
	rest, named := strings.CutPrefix(t.Ref.Name, o.Name+"-")
	index, _, indexed := strings.Cut(rest, "-")
	n, err := strconv.Atoi(index)
	return n, named && indexed && err == nil && n >= 0
}

// ordinal returns the number at the end of the name of a StatefulSet's Pod, and whether there is
// one.
func ordinal(name string) (int, bool) {
	i := strings.LastIndexByte(name, '-')
	n, err := strconv.Atoi(name[i+1:])
	return n, err == nil && n >= 0
}
