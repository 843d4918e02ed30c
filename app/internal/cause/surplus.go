// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// surplus reports whether the owner's controller removes a dependant because of r, an open
// reconciliation. An owner of an unknown kind may do so for any reason.
func surplus(s *Scene, w *change.Write, r *change.Reconciliation) bool {
	logged := false // the audit log names the controller
	if o := controllerOf(s, w); o != nil {
		logged, _ = auditedController(s, w, o)
	}
	switch of := r.Timeline.Ref.Kind; {
	case kind.ReplicaSet.Is(of):
		want := wanted(r.Timeline, w.RV)
		return want >= 0 && placesOf(s, r.Timeline.Ref.UID).held() > want
	case kind.StatefulSet.Is(of):
		return numberOf(s, controllerOf(s, w), w.Timeline) > wanted(r.Timeline, w.RV) || r.Verb == history.Updated &&
			(logged || r.Took&kind.Template != 0 && replaceable(w, r) && !heldBack(w, r.Timeline))
	case kind.DaemonSet.Is(of):
		return r.Verb == history.Updated && (logged || replaceable(w, r))
	case kind.Job.Is(of):
		return logged || r.Verb == history.Updated && !raised(r, w) || lowered(r) || ended(r.Timeline, w)
	}
	return true
}

// replaceable reports whether an update r may replace the Pod that w deletes: one from before r, or one that
// has ended.
func replaceable(w *change.Write, r *change.Reconciliation) bool {
	if len(w.Timeline.Versions) == 0 {
		return true
	}
	first := w.Timeline.Versions[0]
	return first.Baseline || first.ResourceVersion < r.First().RV || hasEnded(w.Previous)
}

// heldBack reports whether w deletes a Pod that the controller of the StatefulSet up does not delete for an update: one
// below the partition, or one that is not ready unless their management is Parallel. A Pod that has ended goes always.
func heldBack(w *change.Write, up *change.Timeline) bool {
	if w.Previous == nil || hasEnded(w.Previous) {
		return false
	}
	n, _ := ordinal(w.Timeline.Ref.Name)
	return n-firstOrdinal(up) < number(up, "spec.updateStrategy.rollingUpdate.partition") ||
		judge.OrderedReady(up.Last()) && !judge.Holds(w.Previous, "Ready")
}

// hasEnded reports whether v is a Pod without a container that runs or will run.
func hasEnded(v *history.Version) bool {
	return v != nil && v.Pod != nil && (v.Pod.Phase == "Failed" || v.Pod.Phase == "Succeeded")
}

// raised reports whether r raised the number of Pods of a Job, for example from none while it was suspended.
// Its controller deletes no Pod for that.
func raised(r *change.Reconciliation, w *change.Write) bool {
	before := wanted(r.Timeline, r.First().RV)
	return before >= 0 && before < wanted(r.Timeline, w.RV)
}

// lowered reports whether the last change of the number of Pods by r is a decrease. For example, Kueue suspends
// a Job for another one: a step of the Job's creation.
func lowered(r *change.Reconciliation) bool {
	all := scalings([]*change.Reconciliation{r})
	return len(all) > 0 && all[len(all)-1].to < all[len(all)-1].from
}

// wanted returns the number of replicas of an owner just before rv, or -1 if it is unknown.
func wanted(t *change.Timeline, rv uint64) int {
	i, _ := t.Position(rv)
	for i--; i >= 0; i-- {
		if w := t.Versions[i].Workload; w != nil {
			return int(w.Replicas)
		}
	}
	return -1
}

// ended reports whether a Job's controller had decided on the end of its Pods before it deleted one with w. It may
// write the condition, with the time of the decision, after the deletion.
func ended(t *change.Timeline, w *change.Write) bool {
	i, _ := t.Position(w.RV)
	for _, v := range t.Versions[max(i-1, 0):] {
		for _, typ := range []string{"FailureTarget", "SuccessCriteriaMet", "Failed", "Complete"} {
			if judge.Holds(v, typ) && (v.ResourceVersion < w.RV || !v.Condition(typ).Since.After(w.At.At().Time)) {
				return true
			}
		}
	}
	return false
}

// surplusSet reports whether the owner's controller removed a ReplicaSet that was scaled to
// nothing. Either the audit log names the controller, or the owner's history limit of such
// ReplicaSets remains. Without a known limit, each such removal counts.
func surplusSet(s *Scene, w *change.Write, o *object.Owner) bool {
	up := s.Known.Object(o.UID)
	if !idle(w) || up == nil || up.Last() == nil || up.Last().Workload == nil {
		return idle(w)
	}
	if is, _ := auditedController(s, w, o); is {
		return true
	}
	left := 0
	for _, t := range s.Known.Dependants(o.UID) {
		if v := t.Last(); t != w.Timeline && (t.Removal == nil || t.Removal.RV > w.RV) && v != nil && isIdle(v) {
			left++
		}
	}
	return left >= int(up.Last().Workload.HistoryLimit)
}

// idle reports whether w removes a ReplicaSet that was scaled to nothing.
func idle(w *change.Write) bool { return w.Previous != nil && isIdle(w.Previous) }

// isIdle reports whether v is a ReplicaSet with zero replicas and no Pods.
func isIdle(v *history.Version) bool {
	return kind.ReplicaSet.Is(v.Kind) && v.Workload != nil && v.Workload.Replicas == 0 && v.Workload.Total == 0
}

// surplusRequest reports whether the owner's controller removed the CertificateRequest of an earlier
// revision. It does so some time after the issuance: a request of a later revision is left.
func surplusRequest(s *Scene, w *change.Write, o *object.Owner) bool {
	if !kind.CertificateRequest.Is(w.Timeline.Ref.Kind) || len(w.Timeline.Versions) == 0 {
		return false
	}
	mine := w.Timeline.Versions[0]
	return slices.ContainsFunc(s.Known.Dependants(o.UID), func(t *change.Timeline) bool {
		if !kind.CertificateRequest.Is(t.Ref.Kind) || len(t.Versions) == 0 ||
			t.Removal != nil && t.Removal.RV <= w.RV {
			return false
		}
		first := t.Versions[0]
		return first.ResourceVersion < w.RV &&
			cmp.Or(first.Created.Compare(mine.Created), cmp.Compare(first.ResourceVersion, mine.ResourceVersion)) > 0
	})
}
