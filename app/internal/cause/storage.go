// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// bySetController reports whether the StatefulSet controller may have made w, a claim with the name of one of a Pod.
func bySetController(s *Scene, w *change.Write) bool {
	_, ofSet := kind.ClaimPattern(object.NameOf(&w.Timeline.Ref))
	return ofSet && maybeBy(s, w, change.Manager, kind.StatefulSet.Controller)
}

// setsOfClaim returns the StatefulSets that may have made the claim of w. It has no owner, but its name consists of
// the template, the StatefulSet and the ordinal.
func setsOfClaim(s *Scene, w *change.Write) []*change.Timeline {
	pattern, _ := kind.ClaimPattern(object.NameOf(&w.Timeline.Ref))
	return ofKind(&kind.StatefulSet, s.Known.Referrers(pattern))
}

// ofKind returns the objects of the kind.
func ofKind(k *kind.Kind, all []*change.Timeline) []*change.Timeline {
	return slices.DeleteFunc(slices.Clone(all), func(t *change.Timeline) bool { return !k.Is(t.Ref.Kind) })
}

// wantsClaim returns the open change of a StatefulSet that wants the Pod of the claim of w, or nil.
func wantsClaim(s *Scene, w *change.Write, set *change.Timeline) *change.Reconciliation {
	recs := s.Placed.History(set.Ref.UID)
	n, _ := ordinal(w.Timeline.Ref.Name)
	if len(recs) == 0 {
		return nil
	}
	r := ofSlot(recs, n+1-firstOrdinal(set))
	if r == nil || r.Verb == history.Deleted || !r.OpenAt(w, s.options.Quiet) {
		return nil
	}
	return r
}

// byProvisioner reports whether a component may have made w, for a claim.
func byProvisioner(s *Scene, w *change.Write) bool {
	_, ofClaim := change.Related(w.Timeline, object.Claim)
	return ofClaim && !change.IsClient(Author(s, w))
}

// claims returns the claims of the Pod of w, or the claim of its volume.
func claims(s *Scene, w *change.Write) []*change.Timeline { return claimsIn(s, w.Timeline.Refers()) }

func claimsIn(s *Scene, relations []object.Relation) []*change.Timeline {
	var out []*change.Timeline
	for _, r := range relations {
		if r.Type == object.Claim {
			out = append(out, s.Known.Named(r.To)...)
		}
	}
	return out
}

// linkClaim is the reason of a link from a Pod to the change of a claim that it waits for.
const linkClaim = "claim"

// unboundClaims returns the claims of the Pod of w that are new and have no volume.
func unboundClaims(s *Scene, w *change.Write) []*change.Timeline {
	return slices.DeleteFunc(claims(s, w), func(t *change.Timeline) bool {
		return openOf(s, w, t, history.Created) == nil
	})
}

// awaited adds a link to the Pods that wait for a new claim. r is its creation.
func awaited(s *Scene, r *change.Reconciliation) {
	for _, t := range ofKind(&kind.Pod, s.Known.Referrers(object.NameOf(&r.Timeline.Ref))) {
		if pod := s.Placed.Current(t.Ref.UID); pod != nil && pod.Verb == history.Created && !pod.Folded &&
			pod.Lineage != r.Lineage && waiting(t, r.First().RV) {
			pod.Links = append(pod.Links, r.Link(linkClaim))
		}
	}
}

// byAttacher reports whether the attach and detach controller may have made w.
func byAttacher(s *Scene, w *change.Write) bool {
	return maybeBy(s, w, change.Manager, kind.VolumeAttachment.Controller)
}

// attached returns the Pods whose volume w attaches or detaches.
func attached(s *Scene, w *change.Write) []*change.Timeline { return s.Known.Attached(w.Timeline) }

// attaches returns the open change of the Pod that needs the volume of w, or does not need it any more; nil without
// one.
func attaches(s *Scene, w *change.Write, pod *change.Timeline) *change.Reconciliation {
	r := openAlike(s, w, pod)
	if r != nil && r.Verb == history.Deleted && !StillOpen(s, r.Lineage, w) {
		return nil
	}
	return r
}

// Binding returns the open reconciliation of the claim to which w binds a volume, or nil.
func Binding(s *Scene, w *change.Write) *change.Reconciliation {
	if w.Part != change.Bookkeeping || w.Verb != history.Updated || !kind.PersistentVolume.Is(w.Timeline.Ref.Kind) ||
		w.Version == nil || slices.Equal(w.Version.Relations, w.Previous.Relations) {
		return nil
	}
	for _, claim := range claimsIn(s, w.Version.Relations) {
		if r := s.Placed.Current(claim.Ref.UID); r != nil && r.Verb != history.Deleted && r.OpenAt(w, s.options.Quiet) {
			return r
		}
	}
	return nil
}

// maybeBy reports whether one of the components may have written w: the audit log names it, or
// without the log its field manager is that of the write.
func maybeBy(s *Scene, w *change.Write, manager string, components ...string) bool {
	if userOf(s, w) != "" {
		author := AuthorOf(s.Trail.Audited(w).Write)
		return author == manager || slices.Contains(components, author)
	}
	return w.Manager == manager || w.Manager == "" && w.Verb == history.Deleted
}
