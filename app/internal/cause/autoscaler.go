// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"math"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// linkAutoscaler is the reason of a link from a scaling to the last change of the autoscaler.
const linkAutoscaler = "autoscaler"

// Autoscaler returns the HorizontalPodAutoscaler that made w, a change of a number of replicas, or
// nil.
func Autoscaler(s *Scene, w *change.Write) *change.Timeline {
	if !scales(s, w) {
		return nil
	}
	for _, t := range s.Known.Referrers(object.NameOf(&w.Timeline.Ref)) {
		if kind.HorizontalPodAutoscaler.Is(t.Ref.Kind) && (t.Removal == nil || t.Removal.RV > w.RV) &&
			slices.ContainsFunc(t.Refers(), func(r object.Relation) bool { return r.Type == object.Target }) {
			return t
		}
	}
	return nil
}

// scales reports whether w may be a scaling by an autoscaler.
func scales(s *Scene, w *change.Write) bool {
	return w.Verb == history.Updated && w.Request == nil && w.Parts() == kind.Scale &&
		maybeBy(s, w, change.Manager, kind.HorizontalPodAutoscaler.Controller) && controllerOf(s, w) == nil
}

// autoscalers returns the autoscaler that made w, a scaling, unless it is being deleted.
func autoscalers(s *Scene, w *change.Write) []*change.Timeline {
	t := Autoscaler(s, w)
	if t == nil {
		return nil
	}
	if r := s.Placed.Current(t.Ref.UID); r == nil || r.Verb == history.Deleted {
		return nil
	}
	return []*change.Timeline{t}
}

// Decision returns the metrics and targets by which the autoscaler t made w, a scaling; "" if they are
// unknown. The controller writes the number of replicas first, and then its status with the time and
// the metrics. Without that status, the one before w counts.
func Decision(t *change.Timeline, w *change.Write) string {
	first, _ := t.Position(w.RV)
	last, _ := t.Position(nextScaling(w))
	for i := max(first, 1); i < last; i++ {
		before, a := t.Versions[i-1].Autoscaler, t.Versions[i].Autoscaler
		if a != nil && !a.Scaled.IsZero() && (before == nil || !a.Scaled.Equal(before.Scaled)) {
			return a.Metrics
		}
	}
	if first > 0 {
		if a := t.Versions[first-1].Autoscaler; a != nil {
			return a.Metrics
		}
	}
	return ""
}

// nextScaling returns the resourceVersion of the first version after w with another number of
// replicas, or the maximum without one.
func nextScaling(w *change.Write) uint64 {
	if w.Version != nil && w.Version.Workload != nil {
		for _, v := range w.Timeline.Versions {
			if v.ResourceVersion > w.RV && v.Workload != nil && v.Workload.Replicas != w.Version.Workload.Replicas {
				return v.ResourceVersion
			}
		}
	}
	return math.MaxUint64
}
