// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byNode is rule C4 for the first Pod of a DaemonSet on a Node since the Node was created, or changed
// its labels or taints. Such a change after the last one of the DaemonSet made the Pod wanted.
func byNode(s *Scene, w *change.Write) (Cause, bool, []span.Link) {
	o := controllerOf(s, w)
	if w.Verb != history.Created || o == nil || !kind.DaemonSet.Is(o.Kind) || !ByController(s, w) ||
		lossOf(s, w, o) != nil {
		return Cause{}, false, nil
	}
	r := opening(s, w, change.PlacedOn(w.Timeline))
	if r == nil || hadPod(s, w, o, r.First().RV) {
		return Cause{}, false, nil
	}
	c := Cause{Line: r.Lineage, Parent: r, Evidence: span.ByRelation}
	if !r.OpenAt(w, s.options.Quiet) {
		// The timestamps are those of the objects, so a late watch changes nothing.
		if opened := openedAt(r, w); w.Version.Created.Sub(opened) > s.options.Settle {
			return Cause{}, false, nil
		}
		c.Evidence = span.ByTime
	}
	sets := s.Placed.History(o.UID)
	for _, set := range sets {
		if set.Verb == history.Deleted || set.Last().RV > r.First().RV {
			return Cause{}, false, nil
		}
	}
	if len(sets) > 0 {
		c.Links = append(c.Links, sets[len(sets)-1].Link("owner"))
	}
	return c, true, nil
}

// opening returns the last change before w that may have made the Node eligible for the Pods of a
// DaemonSet, or nil.
func opening(s *Scene, w *change.Write, node string) *change.Reconciliation {
	if node == "" {
		return nil
	}
	var last *change.Reconciliation
	for _, n := range s.Known.Named(change.NodeName(node)) {
		if n.Removal != nil && n.Removal.RV < w.RV {
			continue
		}
		for _, r := range slices.Concat(s.Placed.History(n.Ref.UID), s.Placed.Instants(n.Ref.UID)) {
			if r.First().RV < w.RV && opens(r) && (last == nil || r.First().RV > last.First().RV) {
				last = r
			}
		}
	}
	return last
}

// opens reports whether r created a Node, or changed its labels or removed a taint.
func opens(r *change.Reconciliation) bool {
	if !r.Instant {
		return r.Verb == history.Created
	}
	return !r.Loss() && slices.ContainsFunc(r.First().Changed.Paths, func(path string) bool {
		return strings.HasPrefix(path, "metadata.labels") ||
			strings.HasPrefix(path, pathTaints) && !hasField(r.Timeline, path, r.First().RV)
	})
}

// openedAt returns the second before w in which the Node was ready, or had its new labels or taints. It
// is zero if that is unknown.
func openedAt(r *change.Reconciliation, w *change.Write) time.Time {
	if r.Instant {
		return r.First().At.At().Truncate(time.Second)
	}
	if v := r.ConvergedBy(w.RV); v != nil {
		if c := v.Condition("Ready"); c != nil {
			return c.Since
		}
	}
	return r.Began()
}

// hadPod reports whether the DaemonSet already made another Pod for the Node of w after the
// resourceVersion rv.
func hadPod(s *Scene, w *change.Write, o *object.Owner, rv uint64) bool {
	r := placesOf(s, o.UID).rows[keyOf(o, w.Timeline)]
	return r != nil && slices.ContainsFunc(r.all, func(at *place) bool { return at.since > rv })
}

// unknownNode reports whether w creates a DaemonSet's Pod for a Node without an observed version.
// Events about the Node may have been observed.
func unknownNode(s *Scene, w *change.Write) bool {
	node := change.PlacedOn(w.Timeline)
	if node == "" || w.Verb != history.Created {
		return false
	}
	seen := func(n *change.Timeline) bool { return n.Last() != nil }
	return !slices.ContainsFunc(s.Known.Named(change.NodeName(node)), seen)
}
