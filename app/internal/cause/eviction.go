// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byEviction is rule C4 for the deletion of a Pod for the sake of another object. The API server, the
// scheduler and the controllers mark such a Pod with a reason first.
func byEviction(s *Scene, w *change.Write) (Cause, bool) {
	if w.Verb != history.Deleted {
		return Cause{}, false
	}
	v := w.Version
	if v == nil {
		v = w.Timeline.Last()
	}
	if v == nil || v.Pod == nil || v.Pod.Node == "" {
		return Cause{}, false
	}
	switch change.Disruption(v) {
	case change.Evicted:
		return byDrain(s, w, v.Pod.Node)
	case change.Tainted:
		return byTaint(s, w, v.Pod.Node)
	case change.Collected:
		return byNodesEnd(s, w, v.Pod.Node)
	case change.Preempted:
		return byPreemption(s, w, v.Pod.Node)
	}
	return Cause{}, false
}

// The fields of a Node that lead to evictions.
const (
	pathUnschedulable = "spec.unschedulable"
	pathTaints        = "spec.taints"
)

// drainTime is the maximum time from a cordon to an eviction of the same drain, if a user is unknown.
const drainTime = 10 * time.Minute

// byDrain returns the cordon of the Node as the cause of an eviction by the same user. Without a known
// user, only the time since the cordon decides.
func byDrain(s *Scene, w *change.Write, node string) (Cause, bool) {
	cordon := nodeChange(s, w, node, pathUnschedulable)
	if cordon == nil || !hasField(cordon.Timeline, pathUnschedulable, w.RV) {
		return Cause{}, false
	}
	c := Cause{Line: cordon.Lineage, Parent: cordon, Evidence: span.ByRelation}
	by, evicted := userOf(s, cordon.First()), userOf(s, w)
	switch {
	case by != "" && evicted != "":
		return c, by == evicted
	case w.At.At().Sub(cordon.First().At.At().Time) > drainTime:
		return Cause{}, false
	}
	c.Evidence = span.ByTime
	return c, true
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

// byTaint returns the last change of the Node with a taint that evicts Pods and was still there.
func byTaint(s *Scene, w *change.Write, node string) (Cause, bool) {
	for _, n := range s.Known.Named(change.NodeName(node)) {
		for _, r := range slices.Backward(s.Placed.Instants(n.Ref.UID)) {
			if r.First().RV < w.RV && evicts(r, w.RV) {
				return Cause{Line: r.Lineage, Parent: r, Evidence: span.ByRelation}, true
			}
		}
	}
	return Cause{}, false
}

// evicts reports whether a taint of r evicted Pods at the resourceVersion rv. The taints of a lost Node
// replace each other.
func evicts(r *change.Reconciliation, rv uint64) bool {
	has := func(path string) bool { return hasField(r.Timeline, path, rv) }
	return slices.ContainsFunc(r.First().Changed.Paths, func(path string) bool {
		return strings.HasPrefix(path, pathTaints) && strings.Contains(path, "effect=NoExecute") && has(path)
	}) || r.Loss() && slices.ContainsFunc(kind.LossTaints, has)
}

// byNodesEnd returns the deletion of the Node before w, with which its Pods go.
func byNodesEnd(s *Scene, w *change.Write, node string) (Cause, bool) {
	var last *change.Reconciliation
	for _, n := range s.Known.Named(change.NodeName(node)) {
		r := s.Placed.Current(n.Ref.UID)
		if r != nil && r.Verb == history.Deleted && r.First().RV < w.RV &&
			(last == nil || r.First().RV > last.First().RV) {
			last = r
		}
	}
	if last == nil {
		return Cause{}, false
	}
	return Cause{Line: last.Lineage, Parent: last, Evidence: span.ByRelation}, true
}

// Loss returns the loss of the Node of w that lasted until w, or nil.
func Loss(s *Scene, w *change.Write) *change.Reconciliation {
	for _, r := range slices.Backward(s.Placed.Instants(w.Timeline.Ref.UID)) {
		if r.Loss() && r.First().RV < w.RV {
			return r
		}
	}
	return nil
}

// nodeChange returns the last change of a field of the Node before w, or nil.
func nodeChange(s *Scene, w *change.Write, node, path string) *change.Reconciliation {
	for _, n := range s.Known.Named(change.NodeName(node)) {
		for _, r := range slices.Backward(s.Placed.Instants(n.Ref.UID)) {
			if r.First().RV < w.RV && touches(r.First(), path) {
				return r
			}
		}
	}
	return nil
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

// byPreemption returns the change of the Pod that preempts the Pod of w. The scheduler nominates
// the preempting Pod for the Node. If several Pods are nominated, the scheduler's Event names the
// right one.
func byPreemption(s *Scene, w *change.Write, node string) (Cause, bool) {
	var found []*change.Reconciliation
	for _, t := range s.Known.Named(change.Nomination(node)) {
		r := s.Placed.Current(t.Ref.UID)
		if t == w.Timeline || r == nil || r.Verb != history.Created || r.First().RV > w.RV || !waiting(t, w.RV) {
			continue
		}
		found = append(found, r)
	}
	evidence := span.ByRelation
	if len(found) > 1 && !handedOut(s, w) {
		evidence = span.ByEvent
		found = slices.DeleteFunc(found, func(r *change.Reconciliation) bool {
			return len(about(w.Timeline, r.Timeline, change.Scheduler)) == 0
		})
	}
	if len(found) != 1 {
		return Cause{}, false
	}
	return Cause{Line: found[0].Lineage, Parent: found[0], Evidence: evidence}, true
}

// waiting reports whether the Pod had no Node at the resourceVersion rv.
func waiting(t *change.Timeline, rv uint64) bool {
	i, found := t.Position(rv)
	if !found {
		i--
	}
	return i >= 0 && t.Versions[i].Pod != nil && t.Versions[i].Pod.Node == ""
}
