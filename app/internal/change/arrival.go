// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// ConvergedBy returns the first version in which r had converged, from the last write to desired
// state on and before rv. It is nil if there is none.
func (r *Reconciliation) ConvergedBy(rv uint64) *history.Version {
	if from := r.Last(); r.ArrivedFrom != from || r.arrivedParts != r.Parts {
		r.ArrivedFrom, r.arrivedParts, r.arrived = from, r.Parts, r.arrivedAfter(from)
	}
	if r.arrived == nil || r.arrived.ResourceVersion >= rv {
		return nil
	}
	return r.arrived
}

// arrivedAfter returns the first version in which r had converged, from that of the write from on,
// or nil. A version that does not show its state is weak evidence for an opaque kind (judge.Opaque): it
// counts only if all later versions do not show it either, and have converged. For other kinds, a
// version from before the controller's first status does not count.
func (r *Reconciliation) arrivedAfter(from *Write) *history.Version {
	t := r.Timeline
	if r.Folded && from == r.First() && t.Past != nil && t.Past.Arrived > 0 && len(t.Versions) > 0 && !r.claimed() {
		v := *t.Versions[0]
		v.ResourceVersion = t.Past.Arrived // that version itself is forgotten
		return &v
	}
	i, _ := t.Position(from.RV)
	var silent *history.Version
	for n, v := range t.Versions[i:] {
		switch {
		case from.Reconstructed && v == from.Version && from.Arrived.IsZero():
		case !r.convergedIn(v), judge.Unobserved(t.Last(), v):
			silent = nil
		case !Lasts(v, t.Versions[i+n+1:]):
		case judge.Shown(v) || !judge.Opaque(t.Last()):
			return v
		case silent == nil:
			silent = v
		}
	}
	return silent
}

// ConvergedAfter returns the first version after v, and before rv, that fulfils the desired state of r; nil without
// one.
func (r *Reconciliation) ConvergedAfter(v *history.Version, rv uint64) *history.Version {
	i, _ := r.Timeline.Position(v.ResourceVersion + 1)
	for n, next := range r.Timeline.Versions[i:] {
		if next.ResourceVersion >= rv {
			break
		}
		if r.convergedIn(next) && Lasts(next, r.Timeline.Versions[i+n+1:]) {
			return next
		}
	}
	return nil
}

// convergedIn reports whether v fulfils the desired state of r (rule D6). Later writes of other
// traces may have raised that of the object.
func (r *Reconciliation) convergedIn(v *history.Version) bool {
	w := v.Workload
	generation, top := r.Desired()
	switch {
	case w == nil, generation == 0, !v.Deleting.IsZero():
		return r.converged(v)
	case kind.Job.Is(v.Kind) && r.Parts == kind.Scale && top < r.bottom():
		// A Job has no observedGeneration. After a raise, more Pods may follow until the end.
		return w.Total <= w.Replicas || r.converged(v)
	case v.ObservedGeneration < generation:
		return r.converged(v)
	}
	switch want := min(top, w.Replicas); {
	case kind.ReplicaSet.Is(v.Kind):
		return w.Available >= want && (w.Total == w.Replicas || w.Replicas > top && w.Total <= w.Replicas)
	case kind.StatefulSet.Is(v.Kind):
		// With the update strategy OnDelete, the status converges before the Pods of a decrease are gone.
		return judge.Converged(v) && w.Available >= want && (r.Parts&kind.Scale == 0 || w.Total <= w.Replicas)
	case !kind.Deployment.Is(v.Kind):
		return judge.Converged(v)
	case r.Parts == kind.Scale && w.Total > w.Updated: // a rollout goes on at the same time
		return w.Available >= want
	case r.Parts == kind.Scale:
		return w.Available >= want && w.Total <= w.Replicas
	case w.Paused:
		return r.Parts&kind.Scale == 0 || w.Total == w.Replicas || r.Verb == history.Created && w.Total == 0
	case want < w.Replicas: // the number was raised since
		return w.Updated >= want && w.Total <= w.Updated && w.Available >= want
	}
	return w.Updated >= w.Replicas && w.Total <= w.Updated && w.Available >= w.Updated
}

// converged reports whether v has converged and shows no failure of r. An ephemeral container counts only
// for the change that may have added it.
func (r *Reconciliation) converged(v *history.Version) bool {
	return (judge.Converged(v) || !r.debugs() && judge.Debugging(v)) && r.Failure(v) == ""
}

// Lasting is the time for which a version of an object without Pods must keep its desired state.
const Lasting = 2 * time.Second

// withdrawn reports whether a version soon after v, for the same generation, has not converged: the controller
// observed the generation first and reported its conditions later.
func withdrawn(v *history.Version, after []*history.Version) bool {
	for _, next := range after {
		if next.Generation != v.Generation || !next.Deleting.IsZero() || next.Seen.Sub(v.Seen) > Lasting {
			return false
		}
		if !judge.Converged(next) {
			return true
		}
	}
	return false
}

// Lasts reports whether v keeps its desired state for more than a moment, by the versions after it. The counts of a
// workload do not show that: they also fall through a loss.
func Lasts(v *history.Version, after []*history.Version) bool {
	if v.Pod == nil {
		return v.Workload != nil || !withdrawn(v, after)
	}
	for _, next := range after {
		switch {
		case next.Pod == nil, next.Seen.Sub(v.Seen) > judge.Steady:
			return true
		case !next.Deleting.IsZero():
			return !Crashed(v)
		}
		for _, c := range next.Pod.Containers {
			before := v.Pod.Container(c.Name, false)
			if before != nil && c.Restarts > before.Restarts || judge.ExitMessage(c.Name, c.State) != "" {
				return false
			}
		}
	}
	return true
}

// Crashed reports whether v is a Pod with a container that has run for less than judge.Steady since a crash.
func Crashed(v *history.Version) bool {
	return v.Pod != nil && slices.ContainsFunc(v.Pod.Containers, func(c *observation.Container) bool {
		return c.Restarts > 0 && judge.ExitMessage(c.Name, c.Last) != "" &&
			(c.State == nil || v.Seen.Sub(c.State.Started) <= judge.Steady)
	})
}

// debugs reports whether the last write of r may have added an ephemeral container to its Pod.
func (r *Reconciliation) debugs() bool {
	changed := &r.Last().Changed
	return !changed.Known || slices.ContainsFunc(changed.Paths, func(path string) bool {
		return strings.HasPrefix(path, "spec.ephemeralContainers")
	})
}

// Failure returns why r had failed in v, or "". An infeasible resize counts only for a change of the
// resources: the Pod itself has not failed.
func (r *Reconciliation) Failure(v *history.Version) string {
	if msg := judge.Failure(v); msg != "" || !slices.ContainsFunc(r.Last().Changed.Paths, ofResources) {
		return msg
	}
	return judge.Infeasible(v)
}

// ofResources reports whether the path is that of a field of a Pod's or a container's resources.
func ofResources(path string) bool {
	return strings.HasPrefix(path, "spec.resources.") || strings.Contains(path, "].resources.")
}

// FailedBefore returns the first version of the failure of r that lasted until the resourceVersion
// rv. It is nil if there was no failure then.
func (r *Reconciliation) FailedBefore(rv uint64) *history.Version {
	var since *history.Version
	i, _ := r.Timeline.Position(rv)
	for i--; i >= 0; i-- {
		v := r.Timeline.Versions[i]
		if v.ResourceVersion < r.Last().RV || r.Failure(v) == "" {
			break
		}
		since = v
	}
	return since
}
