// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Pod condition types.
const (
	podScheduled      = "PodScheduled"
	podSandboxReady   = "PodReadyToStartContainers"
	podReady          = "Ready"
	reasonUnscheduled = "Unschedulable"
)

// podConverged: the Pod is ready, or has done its work; what a Job waits for is
// the work.
func podConverged(s *version) bool {
	if s.Pod.Phase == "Succeeded" {
		return true
	}
	if o := object.ControllerOf(s.Owners); o != nil && kind.Job.Is(o.Kind) {
		return false
	}
	return holds(s, podReady) && s.Pod.Phase != "Failed" && resizing(s) == nil
}

// resizing returns the condition of a resize in place that the kubelet has not finished, or nil.
func resizing(s *version) *observation.Condition {
	for _, typ := range []string{"PodResizePending", "PodResizeInProgress"} {
		if holds(s, typ) {
			return s.Condition(typ)
		}
	}
	return nil
}

// holds reports whether the condition is True.
func holds(s *version, typ string) bool {
	c := s.Condition(typ)
	return c != nil && c.Status == "True"
}

// podFailure says why a Pod of phase Failed failed.
func podFailure(p *podState) string {
	for _, c := range p.Init {
		if msg := exitMessage(c.Name, c.State); msg != "" {
			return msg
		}
	}
	for _, c := range p.Containers {
		if msg := exitMessage(c.Name, c.State); msg != "" {
			return msg
		}
	}
	return strings.TrimSuffix(strings.TrimSpace(p.Reason+": "+p.Message), ":")
}

// exitMessage names how a container ended, if it ended badly.
func exitMessage(name string, s *observation.ContainerState) string {
	switch {
	case !s.Terminated():
		return ""
	case s.Reason == "OOMKilled":
		return fmt.Sprintf("container %s was killed: out of memory", name)
	case s.Signal != 0:
		return fmt.Sprintf("container %s ended by signal %d", name, s.Signal)
	case s.ExitCode != 0:
		return fmt.Sprintf("container %s exited with code %d", name, s.ExitCode)
	}
	return ""
}

// podWaitsFor names the first thing that stands between a Pod and Ready.
func podWaitsFor(s *version) string {
	p := s.Pod
	if p.Node == "" {
		if len(p.SchedulingGates) > 0 {
			return "waiting for scheduling gates " + strings.Join(p.SchedulingGates, ", ")
		}
		if c := s.Condition(podScheduled); c != nil && c.Status == "False" {
			return "unschedulable: " + c.Message
		}
		return "waiting to be scheduled"
	}
	for _, cs := range [][]*observation.Container{p.Init, p.Containers} {
		for i := range cs {
			if msg := containerWaitsFor(cs[i]); msg != "" {
				return msg
			}
		}
	}
	if c := resizing(s); c != nil {
		return "resize: " + conditionText(c)
	}
	if c := s.Condition(podReady); c != nil && c.Reason == "ReadinessGatesNotReady" {
		return c.Message
	}
	for _, c := range p.Containers {
		if !c.Ready {
			return "waiting for container " + c.Name + " to be ready"
		}
	}
	return "waiting to be ready"
}

func containerWaitsFor(c *observation.Container) string {
	st := c.State
	if st == nil || !st.Waiting {
		return exitMessage(c.Name, st)
	}
	switch st.Reason {
	case "CrashLoopBackOff":
		if msg := exitMessage(c.Name, c.Last); msg != "" {
			return msg + fmt.Sprintf(" (CrashLoopBackOff, restart count %d)", c.Restarts)
		}
		return fmt.Sprintf("container %s in CrashLoopBackOff, restart count %d", c.Name, c.Restarts)
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		return fmt.Sprintf("image %s of container %s: %s: %s", c.Image, c.Name, st.Reason, st.Message)
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return fmt.Sprintf("container %s: %s: %s", c.Name, st.Reason, st.Message)
	}
	return ""
}

// troubled reports whether an open Pod waits for something that will not come
// by itself soon: that is the reason to give for a rollout that failed.
func troubled(s *version) bool {
	if s.Pod.Node == "" {
		c := s.Condition(podScheduled)
		return c != nil && c.Reason == reasonUnscheduled
	}
	for _, cs := range [][]*observation.Container{s.Pod.Init, s.Pod.Containers} {
		for i := range cs {
			if containerWaitsFor(cs[i]) != "" {
				return true
			}
		}
	}
	return false
}
