// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Condition types and a reason of Pods.
const (
	// PodScheduled is the condition of a bound Pod.
	PodScheduled = "PodScheduled"
	// PodSandboxReady is the condition of a Pod with a sandbox.
	PodSandboxReady = "PodReadyToStartContainers"
	// PodReady is the condition of a Pod whose containers and readiness gates are ready.
	PodReady = "Ready"
	// ReasonUnscheduled is the reason of PodScheduled if no Node fits.
	ReasonUnscheduled = "Unschedulable"
)

// Steady is the time without a crash after which a ready Pod has converged: a container without a
// readiness probe is ready as soon as it runs.
const Steady = 10 * time.Second

// podConverged reports whether the Pod is ready, or has completed its work. A Pod of a Job must
// have completed it. A ready Pod in progress waits for an ephemeral container. It does not wait for an
// infeasible resize.
func podConverged(s *history.Version) bool {
	if s.Pod.Phase == "Succeeded" {
		return true
	}
	if o := object.ControllerOf(s.Owners); o != nil && kind.Job.Is(o.Kind) {
		return false
	}
	return Holds(s, PodReady) && s.Pod.Phase != "Failed" && Ephemeral(s) == "" &&
		(Resizing(s) == nil || Infeasible(s) != "")
}

// Ephemeral describes the ephemeral container that a ready Pod waits for, or returns "".
func Ephemeral(s *history.Version) string {
	if Holds(s, PodReady) && s.Progress == observation.ProgressInProgress {
		return s.ProgressMessage
	}
	return ""
}

// Debugging reports whether a Pod has converged except for an ephemeral container.
func Debugging(s *history.Version) bool {
	if s.Pod == nil || Ephemeral(s) == "" {
		return false
	}
	without, status := *s, *s.Status // versions share both
	status.Verdict = &history.Verdict{Progress: observation.ProgressCurrent}
	without.Status = &status
	return Converged(&without)
}

// resizePending is the condition of a resize in place that the kubelet has not begun.
const resizePending = "PodResizePending"

// Infeasible returns the message about a resize in place that the kubelet will not try again, or "".
// The Pod itself has not failed.
func Infeasible(s *history.Version) string {
	c := s.Condition(resizePending)
	if s.Pod == nil || !s.Deleting.IsZero() || c == nil || c.Status != "True" || c.Reason != "Infeasible" ||
		s.ObservedGeneration < s.Generation {
		return ""
	}
	return "cannot be resized: " + ConditionText(c)
}

// Resizing returns the condition of a resize in place that the kubelet has not finished, or nil.
func Resizing(s *history.Version) *observation.Condition {
	for _, typ := range []string{resizePending, "PodResizeInProgress"} {
		if Holds(s, typ) {
			return s.Condition(typ)
		}
	}
	return nil
}

// Holds reports whether the condition of the type typ is True.
func Holds(s *history.Version, typ string) bool {
	c := s.Condition(typ)
	return c != nil && c.Status == "True"
}

// podFailure returns the reason for the phase Failed of a Pod.
func podFailure(p *history.PodState) string {
	if p.Reason != "" { // the kubelet's own, such as Evicted
		return strings.TrimSuffix(strings.TrimSpace(p.Reason+": "+p.Message), ":")
	}
	for _, c := range ByBlame(p) {
		if msg := ExitMessage(c.Name, c.State); msg != "" {
			return msg
		}
	}
	return strings.TrimSpace(p.Message)
}

// ByBlame returns the containers of a Pod in the order in which they can be to blame for its failure. The
// kubelet stops a sidecar after the others have ended, so a sidecar comes last.
func ByBlame(p *history.PodState) []*observation.Container {
	var out, sidecars []*observation.Container
	for _, c := range p.Init {
		if c.Sidecar {
			sidecars = append(sidecars, c)
		} else {
			out = append(out, c)
		}
	}
	return slices.Concat(out, p.Containers, sidecars)
}
