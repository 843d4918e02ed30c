// SPDX-License-Identifier: Apache-2.0

// Package judge decides whether a version of an object has converged or failed. It decides by the
// version alone. Package change applies these judgements to reconciliations, and package lifecycle
// derives their ends.
package judge

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// Converged reports whether the object in s has its desired state.
func Converged(s *history.Version) bool {
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
	case kind.HorizontalPodAutoscaler.Is(s.Kind):
		return len(s.Conditions) > 0 // its controller has looked at it
	}
	return s.Progress == observation.ProgressCurrent
}

// deploymentConverged reports the end of the wait of kubectl rollout status. A paused Deployment
// makes no further progress, so it has converged.
func deploymentConverged(s *history.Version) bool {
	w := s.Workload
	if s.ObservedGeneration < s.Generation {
		return false
	}
	if w.Paused {
		return w.Total == w.Replicas
	}
	return w.Updated >= w.Replicas && w.Total <= w.Updated && w.Available >= w.Updated
}

// OrderedReady reports whether v is a StatefulSet whose controller waits until each of its Pods is ready.
func OrderedReady(v *history.Version) bool {
	policy := v.Field("spec.podManagementPolicy")
	return policy != nil && policy.Shown == "OrderedReady"
}

// Failure returns the reason why the object in s has failed, or "" if it has not. Only a failure
// declared by a controller counts, not one that is still retried.
func Failure(s *history.Version) string {
	switch {
	case !s.Deleting.IsZero():
		return ""
	case s.Pod != nil:
		if s.Pod.Phase == "Failed" {
			return strings.TrimSuffix("failed: "+podFailure(s.Pod), ": ")
		}
		return ""
	case s.ObservedGeneration >= 0 && s.ObservedGeneration < s.Generation:
		return ""
	case kind.Deployment.Is(s.Kind):
		if c := s.Condition("Progressing"); c != nil && c.Status == "False" && c.Reason == "ProgressDeadlineExceeded" {
			return "exceeded its progress deadline"
		}
		return ""
	case kind.ReplicaSet.Is(s.Kind):
		return ""
	}
	if s.Progress == observation.ProgressFailed {
		switch {
		case isRelease(s):
			return "failed, as Helm reports"
		case s.ProgressMessage == "":
			return "failed"
		}
		return "failed: " + progressText(s)
	}
	return ""
}

// progressText returns the message of the verdict on s. Some checks return only the reason of a condition, and its
// message says more.
func progressText(s *history.Version) string {
	for _, c := range s.Conditions {
		if c.Reason == s.ProgressMessage && c.Message != "" {
			return ConditionText(c)
		}
	}
	return s.ProgressMessage
}

// isRelease reports whether s is a stored Helm release.
func isRelease(s *history.Version) bool { return s.Revision != nil && s.Group == "" }

// Opaque reports whether nothing in v, the newest version of an object, shows when its controller
// has handled a change: it has no observedGeneration, and its kind has no rule here. v may be nil.
func Opaque(v *history.Version) bool {
	if v == nil {
		return true
	}
	switch {
	case v.Pod != nil, v.Workload != nil, v.Revision != nil, kind.Of(v.Group, v.Kind.Kind).Progress:
		return false
	case v.Group == "" || v.Is("events.k8s.io", "Event"):
		return false // the core kinds converge at once, or their status shows it
	}
	return v.ObservedGeneration < 0
}

// Shown reports whether a version of an opaque kind shows its state. Otherwise its verdict is a guess.
func Shown(v *history.Version) bool {
	switch v.JudgedBy {
	case "":
		return len(v.Conditions) > 0
	case observation.JudgedByNothing, observation.JudgedByNothingYet:
		return false
	case observation.JudgedByConfiguration, observation.JudgedByArgoCD, observation.JudgedByNames,
		observation.JudgedByKstatus:
	}
	return true
}

// Unobserved reports whether v shows no observation by its controller, although last, a later
// version, does. The conditions of a Pod show it.
func Unobserved(last, v *history.Version) bool {
	return v.Pod == nil && v.ObservedGeneration < 0 && last.ObservedGeneration >= 0
}

// ConditionText returns the message of a condition. A withheld message gets the reason.
func ConditionText(c *observation.Condition) string {
	if c.Message == message.Withheld {
		return message.WithReason(c.Reason, c.Message)
	}
	return c.Message
}
