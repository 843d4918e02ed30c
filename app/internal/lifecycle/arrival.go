// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// convergedBy returns the first version at or after the last write to desired
// state, and before rv, in which the object was where it wanted to be; nil if
// there is none.
func (r *reconciliation) convergedBy(rv uint64) *version {
	if from := r.last(); r.arrivedFrom != from || r.arrivedParts != r.parts {
		r.arrivedFrom, r.arrivedParts, r.arrived = from, r.parts, r.arrivedAfter(from)
	}
	if r.arrived == nil || r.arrived.ResourceVersion >= rv {
		return nil
	}
	return r.arrived
}

// arrivedAfter returns the first version, that of the write from or a later
// one, in which the object was where it wanted to be, or nil. Of a kind that
// does not say what it has observed, a version without conditions says nothing:
// it counts only as long as no later one says more. Of a kind that does, a
// version from before its controller first wrote a status has not been observed.
func (r *reconciliation) arrivedAfter(from *write) *version {
	t := r.t
	i, _ := t.position(from.rv)
	var silent *version
	for n, v := range t.versions[i:] {
		switch {
		case from.reconstructed && v == from.v && from.arrived.IsZero():
		case !r.convergedIn(v), unobserved(t, v):
			silent = nil
		case !lasts(v, t.versions[i+n+1:]):
		case len(v.Conditions) > 0 || !opaque(t):
			return v
		case silent == nil:
			silent = v
		}
	}
	return silent
}

// convergedIn reports whether v is where r wants the object to be (rule D6). Writes of other traces may
// want more by then.
func (r *reconciliation) convergedIn(v *version) bool {
	w, wrote := v.Workload, r.last().v
	if w == nil || wrote == nil || !v.Deleting.IsZero() || v.ObservedGeneration < wrote.Generation {
		return converged(v)
	}
	top := r.top(w.Replicas)
	switch want := min(top, w.Replicas); {
	case kind.ReplicaSet.Is(v.Kind):
		return w.Available >= want && (w.Total == w.Replicas || w.Replicas > top && w.Total <= w.Replicas)
	case kind.StatefulSet.Is(v.Kind):
		return converged(v) && w.Available >= want
	case !kind.Deployment.Is(v.Kind):
		return converged(v)
	case r.parts == kind.Scale && w.Total > w.Updated: // a rollout goes on beside it
		return w.Available >= want
	case r.parts == kind.Scale:
		return w.Available >= want && w.Total <= w.Replicas
	case w.Paused:
		return r.parts&kind.Scale == 0 || w.Total == w.Replicas
	case want < w.Replicas: // more were asked for since
		return w.Updated >= want && w.Total <= w.Updated && w.Available >= want
	}
	return w.Updated >= w.Replicas && w.Total <= w.Updated && w.Available >= w.Updated
}

// steady is how long a Pod that was ready must not have crashed to have
// arrived: a container without a readiness probe is ready as soon as it runs.
const steady = 10 * time.Second

// lasts reports whether what v shows was more than the moment before a crash,
// by the versions after it.
func lasts(v *version, after []*version) bool {
	if v.Pod == nil {
		return true
	}
	for _, next := range after {
		if next.Pod == nil || !next.Deleting.IsZero() || next.seen.Sub(v.seen) > steady {
			return true
		}
		for _, c := range next.Pod.Containers {
			before := find(v.Pod, c.Name, false)
			if before != nil && c.Restarts > before.Restarts || exitMessage(c.Name, c.State) != "" {
				return false
			}
		}
	}
	return true
}
