// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// disrupted returns a function that reports whether w deletes a Pod for that reason. The API server, the scheduler
// and the controllers mark such a Pod with a reason first.
func disrupted(reason string) func(*Scene, *change.Write) bool {
	return func(_ *Scene, w *change.Write) bool {
		return nodeOf(w) != "" && change.Disruption(deletedPod(w)) == reason
	}
}

// deletedPod returns the version of the Pod that w deletes, or nil.
func deletedPod(w *change.Write) *history.Version {
	if w.Version != nil {
		return w.Version
	}
	return w.Timeline.Last()
}

// nodeOf returns the Node of the Pod that w deletes, or "".
func nodeOf(w *change.Write) string {
	if v := deletedPod(w); v != nil && v.Pod != nil {
		return v.Pod.Node
	}
	return ""
}

// nodesOf returns the Nodes with the name of the Node of the Pod that w deletes.
func nodesOf(s *Scene, w *change.Write) []*change.Timeline {
	return s.Known.Named(change.NodeName(nodeOf(w)))
}

// The fields of a Node that lead to evictions.
const (
	pathUnschedulable = "spec.unschedulable"
	pathTaints        = "spec.taints"
)

// drainTime is the maximum time from a cordon to an eviction of the same drain, if a user is unknown.
const drainTime = 10 * time.Minute

// drain returns the cordon of the Node as the cause of an eviction by the same user. Without a known
// user, only the time since the cordon decides.
func drain(s *Scene, w *change.Write, node *change.Timeline) *change.Reconciliation {
	cordons := func(r *change.Reconciliation) bool { return touches(r.First(), pathUnschedulable) }
	cordon := instantBefore(s, w, node, cordons)
	if cordon == nil || !hasField(node, pathUnschedulable, w.RV) {
		return nil
	}
	same := userOf(s, cordon.First()) == userOf(s, w)
	if ofUnknownUser(s, w, cordon) {
		same = w.At.At().Sub(cordon.First().At.At().Time) <= drainTime
	}
	if !same {
		return nil
	}
	return cordon
}

// instantBefore returns the newest instant change of the object of t before w that has the property, or nil.
func instantBefore(
	s *Scene, w *change.Write, t *change.Timeline, has func(*change.Reconciliation) bool,
) *change.Reconciliation {
	for _, r := range slices.Backward(s.Placed.Instants(t.Ref.UID)) {
		if r.First().RV < w.RV && has(r) {
			return r
		}
	}
	return nil
}

// ofUnknownUser reports whether the user of w or that of r is unknown.
func ofUnknownUser(s *Scene, w *change.Write, r *change.Reconciliation) bool {
	return userOf(s, r.First()) == "" || userOf(s, w) == ""
}

// Drain returns the cordon by a user that was in effect on the Node at the time at, or nil.
func Drain(s *Scene, node, user string, at time.Time) *change.Reconciliation {
	if user == "" {
		return nil
	}
	for _, n := range s.Known.Named(change.NodeName(node)) {
		for _, r := range slices.Backward(s.Placed.Instants(n.Ref.UID)) {
			w := r.First()
			asked := w.At.At().Time
			if q := s.Trail.Audited(w); q != nil {
				asked = q.Start // the watch may be late
			}
			if asked.After(at) || !touches(w, pathUnschedulable) {
				continue
			}
			if hasField(n, pathUnschedulable, w.RV) && userOf(s, w) == user {
				return r
			}
			return nil
		}
	}
	return nil
}

// evictingTaint returns the last change of the Node with a taint that evicts Pods and was still there, or nil.
func evictingTaint(s *Scene, w *change.Write, node *change.Timeline) *change.Reconciliation {
	return instantBefore(s, w, node, func(r *change.Reconciliation) bool { return evicts(r, w.RV) })
}

// evicts reports whether a taint of r evicted Pods at the resourceVersion rv. The taints of a lost Node
// replace each other.
func evicts(r *change.Reconciliation, rv uint64) bool {
	has := func(path string) bool { return hasField(r.Timeline, path, rv) }
	return slices.ContainsFunc(r.First().Changed.Paths, func(path string) bool {
		return strings.HasPrefix(path, pathTaints) && strings.Contains(path, "effect=NoExecute") && has(path)
	}) || r.Loss() && slices.ContainsFunc(kind.LossTaints, has)
}

// Loss returns the loss of the Node of w that lasted until w, or nil.
func Loss(s *Scene, w *change.Write) *change.Reconciliation {
	return instantBefore(s, w, w.Timeline, (*change.Reconciliation).Loss)
}

// touches reports whether w changed a field at or below the path.
func touches(w *change.Write, path string) bool {
	return slices.ContainsFunc(w.Changed.Paths, func(p string) bool { return strings.HasPrefix(p, path) })
}

// hasField reports whether the Node had the field at the resourceVersion rv, or else in its oldest
// known version.
func hasField(node *change.Timeline, path string, rv uint64) bool {
	i, found := node.Position(rv)
	if !found {
		i = max(0, i-1)
	}
	return i < len(node.Versions) && node.Versions[i].Field(path) != nil
}

// preemptors returns the Pods without a Node that are nominated for the Node of the Pod of w.
func preemptors(s *Scene, w *change.Write) []*change.Timeline {
	return slices.DeleteFunc(slices.Clone(s.Known.Named(change.Nomination(nodeOf(w)))), func(t *change.Timeline) bool {
		return t == w.Timeline || openCreation(s, w, t) == nil || !waiting(t, w.RV)
	})
}

// preemptor returns the only one of them, or nothing.
func preemptor(s *Scene, w *change.Write) []*change.Timeline { return only(preemptors(s, w)) }

// reportedPreemptor returns the one of them that the scheduler's Event about the Pod of w names, or nothing.
func reportedPreemptor(s *Scene, w *change.Write) []*change.Timeline {
	if handedOut(s, w) {
		return nil
	}
	return only(slices.DeleteFunc(preemptors(s, w), func(t *change.Timeline) bool {
		return len(about(w.Timeline, t, change.Scheduler)) == 0
	}))
}

// only returns all if it is one, or nothing.
func only(all []*change.Timeline) []*change.Timeline {
	if len(all) != 1 {
		return nil
	}
	return all
}

// waiting reports whether the Pod had no Node at the resourceVersion rv.
func waiting(t *change.Timeline, rv uint64) bool {
	i, found := t.Position(rv)
	if !found {
		i--
	}
	return i >= 0 && t.Versions[i].Pod != nil && t.Versions[i].Pod.Node == ""
}
