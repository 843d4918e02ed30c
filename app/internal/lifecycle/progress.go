// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// converged reports whether s is an object that is where its desired state
// wants it to be.
func converged(s *version) bool {
	if !s.Deleting.IsZero() {
		return false
	}
	if s.ObservedGeneration >= 0 && s.ObservedGeneration < s.Generation {
		return false
	}
	switch {
	case s.Pod != nil:
		return podConverged(s)
	case kind.Deployment.Is(s.Kind) && s.Workload != nil:
		return deploymentConverged(s)
	case kind.ReplicaSet.Is(s.Kind) && s.Workload != nil:
		w := s.Workload
		return s.ObservedGeneration >= s.Generation && w.Total == w.Replicas && w.Available >= w.Replicas
	}
	return s.Progress == observation.ProgressCurrent
}

// deploymentConverged is what kubectl rollout status waits for. A paused
// Deployment goes nowhere and so has arrived.
func deploymentConverged(s *version) bool {
	w := s.Workload
	if s.ObservedGeneration < s.Generation {
		return false
	}
	if w.Paused {
		return w.Total == w.Replicas
	}
	return w.Updated >= w.Replicas && w.Total <= w.Updated && w.Available >= w.Updated
}

// failure says why s gave up, or is empty: what a controller declares, not what
// it still retries.
func failure(s *version) string {
	switch {
	case !s.Deleting.IsZero():
		return ""
	case s.Pod != nil:
		if s.Pod.Phase == "Failed" {
			return podFailure(s.Pod)
		}
		return ""
	case s.ObservedGeneration >= 0 && s.ObservedGeneration < s.Generation:
		return ""
	case kind.Deployment.Is(s.Kind):
		if c := s.Condition("Progressing"); c != nil && c.Status == "False" && c.Reason == "ProgressDeadlineExceeded" {
			return "progress deadline exceeded"
		}
		return ""
	case kind.ReplicaSet.Is(s.Kind):
		return ""
	}
	if s.Progress == observation.ProgressFailed {
		if s.ProgressMessage == "" {
			return "failed"
		}
		return s.ProgressMessage
	}
	return ""
}

// waitsFor says what an open object still needs.
func waitsFor(s *version) string {
	switch {
	case !s.Deleting.IsZero() && len(s.Finalizers) > 0:
		return fmt.Sprintf("waiting for finalizers %v", s.Finalizers)
	case !s.Deleting.IsZero():
		return "terminating"
	case s.Pod != nil:
		return podWaitsFor(s)
	case s.ObservedGeneration >= 0 && s.ObservedGeneration < s.Generation:
		return "its controller has not yet seen the change"
	}
	if c := s.Condition("ReplicaFailure"); c != nil && c.Status == "True" {
		return c.Message
	}
	if w := s.Workload; w != nil {
		if kind.Deployment.Is(s.Kind) && w.Total > w.Updated {
			return fmt.Sprintf(
				"%d of %d replicas available, %d old still there",
				w.Available,
				w.Replicas,
				w.Total-w.Updated,
			)
		}
		return fmt.Sprintf("%d of %d replicas available", w.Available, w.Replicas)
	}
	if s.ProgressMessage == "" {
		return "its controller has not reported completion"
	}
	return s.ProgressMessage
}

// opaque reports whether nothing in the object's versions tells when its
// controller has caught up with a change: no observedGeneration, and no kind
// whose meaning is known here.
func opaque(t *timeline) bool {
	v := t.last()
	if v == nil {
		return true
	}
	switch {
	case v.Pod != nil, v.Workload != nil, kind.Of(v.Group, v.Kind.Kind).Progress:
		return false
	case v.Group == "" || v.Is("events.k8s.io", "Event"):
		return false // the core kinds answer at once or say so
	}
	return v.ObservedGeneration < 0
}

// unobserved reports whether v says nothing of what its controller has observed
// though the object does later: the controller had not come to it yet. A Pod's conditions tell.
func unobserved(t *timeline, v *version) bool {
	last := t.last()
	return v.Pod == nil && v.ObservedGeneration < 0 && last.ObservedGeneration >= 0
}
