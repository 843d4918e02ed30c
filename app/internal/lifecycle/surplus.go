// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// surplus reports whether the owner's controller takes a dependant away because of r, which is open.
// Kinds that are not known may for any reason.
func (d *derivation) surplus(w *write, r *reconciliation) bool {
	switch of := r.t.ref.Kind; {
	case kind.ReplicaSet.Is(of):
		want := wanted(r.t, w.rv)
		return want >= 0 && d.census(r.t.ref.UID).before(w.rv) > want
	case kind.StatefulSet.Is(of):
		n, ok := ordinal(w.t.ref.Name)
		return r.verb == updated || ok && n >= wanted(r.t, w.rv)
	case kind.DaemonSet.Is(of):
		return r.verb == updated
	case kind.Job.Is(of):
		return r.verb == updated || ended(r.t, w.rv)
	}
	return true
}

// wanted is the number of replicas of an owner just before rv, or -1 if it is unknown.
func wanted(t *timeline, rv uint64) int {
	i, _ := t.position(rv)
	for i--; i >= 0; i-- {
		if w := t.versions[i].Workload; w != nil {
			return int(w.Replicas)
		}
	}
	return -1
}

// ended reports whether a Job's controller had decided just before rv to end its Pods.
func ended(t *timeline, rv uint64) bool {
	i, _ := t.position(rv)
	if i == 0 {
		return false
	}
	v := t.versions[i-1]
	return holds(v, "FailureTarget") || holds(v, "SuccessCriteriaMet") || holds(v, "Failed") || holds(v, "Complete")
}

// surplusSet reports whether the owner's controller removed a ReplicaSet that was scaled to nothing:
// the audit log says so, or as many of them are left as the owner keeps.
func (d *derivation) surplusSet(w *write, o *object.Owner) bool {
	up := d.engine.objects[o.UID]
	if !idle(w) || up == nil || up.last() == nil || up.last().Workload == nil {
		return idle(w)
	}
	if is, _ := d.auditedController(w, o); is {
		return true
	}
	left := 0
	for _, t := range d.engine.dependantsOf(o.UID) {
		if v := t.last(); t != w.t && (t.removal == nil || t.removal.rv > w.rv) && v != nil && isIdle(v) {
			left++
		}
	}
	return left >= int(up.last().Workload.HistoryLimit)
}

// idle reports whether w removes a ReplicaSet that was scaled to nothing.
func idle(w *write) bool { return w.prev != nil && isIdle(w.prev) }

func isIdle(v *version) bool {
	return kind.ReplicaSet.Is(v.Kind) && v.Workload != nil && v.Workload.Replicas == 0 && v.Workload.Total == 0
}
