// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byClaim is rule C4 for storage. A StatefulSet makes the claims of its Pods, a provisioner makes
// the volume of a claim, and the volume may go with its claim.
func byClaim(s *Scene, w *change.Write) (Cause, bool) {
	var r *change.Reconciliation
	switch {
	case kind.PersistentVolumeClaim.Is(w.Timeline.Ref.Kind) && w.Verb == history.Created:
		r = claimant(s, w)
	case kind.PersistentVolume.Is(w.Timeline.Ref.Kind) && w.Verb != history.Updated:
		r = claimOf(s, w)
	}
	if r == nil {
		return Cause{}, false
	}
	return Cause{Line: r.Lineage, Parent: r, Evidence: span.ByRelation}, true
}

// claimant returns the open reconciliation of the StatefulSet that made the claim of w, or nil. The
// claim has no owner, but its name consists of the template, the StatefulSet and the ordinal.
func claimant(s *Scene, w *change.Write) *change.Reconciliation {
	if !maybeBy(s, w, change.Manager, kind.StatefulSet.Controller) {
		return nil
	}
	pattern, ok := kind.ClaimPattern(object.NameOf(&w.Timeline.Ref))
	if !ok {
		return nil
	}
	n, _ := ordinal(w.Timeline.Ref.Name)
	for _, set := range s.Known.Referrers(pattern) {
		recs := s.Placed.History(set.Ref.UID)
		if len(recs) == 0 || !kind.StatefulSet.Is(set.Ref.Kind) {
			continue
		}
		if r := ofSlot(recs, n+1-firstOrdinal(set)); r != nil && r.Verb != history.Deleted && r.OpenAt(w, s.options.Quiet) {
			return r
		}
	}
	return nil
}

// claimOf returns the reconciliation of the claim for which the volume of w was made, or with which
// it went; nil without one.
func claimOf(s *Scene, w *change.Write) *change.Reconciliation {
	if q := s.Trail.Audited(w); change.IsClient(w.Manager) || q != nil && change.IsClient(AuthorOf(q.Write)) {
		return nil
	}
	name, ok := change.Related(w.Timeline, object.Claim)
	if !ok {
		return nil
	}
	for _, claim := range s.Known.Named(name) {
		r := s.Placed.Current(claim.Ref.UID)
		switch {
		case r == nil, r.First().RV > w.RV:
		case w.Verb == history.Created && r.Verb == history.Created && r.OpenAt(w, s.options.Quiet),
			w.Verb == history.Deleted && r.Verb == history.Deleted:
			return r
		}
	}
	return nil
}

// Binding returns the open reconciliation of the claim to which w binds a volume, or nil.
func Binding(s *Scene, w *change.Write) *change.Reconciliation {
	if w.Part != change.Bookkeeping || w.Verb != history.Updated || !kind.PersistentVolume.Is(w.Timeline.Ref.Kind) ||
		w.Version == nil || slices.Equal(w.Version.Relations, w.Previous.Relations) {
		return nil
	}
	for _, relation := range w.Version.Relations {
		if relation.Type != object.Claim {
			continue
		}
		for _, claim := range s.Known.Named(relation.To) {
			r := s.Placed.Current(claim.Ref.UID)
			if r != nil && r.Verb != history.Deleted && r.OpenAt(w, s.options.Quiet) {
				return r
			}
		}
	}
	return nil
}

// maybeBy reports whether one of the components may have written w: the audit log names it, or
// without the log its field manager is that of the write.
func maybeBy(s *Scene, w *change.Write, manager string, components ...string) bool {
	if q := s.Trail.Audited(w); q != nil && q.User != "" && !q.Unauthenticated {
		author := AuthorOf(q.Write)
		for _, c := range components {
			if author == c {
				return true
			}
		}
		return author == manager
	}
	return w.Manager == manager || w.Manager == "" && w.Verb == history.Deleted
}
