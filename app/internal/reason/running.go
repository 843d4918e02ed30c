// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// running is the reason of a Pod on a node.
func running(v *history.Version, events []*history.Event) Reason {
	if v.Pod == nil {
		return Reason{}
	}
	if v.Pod.Phase == "Failed" {
		return failedPod(v)
	}
	for i, list := range [][]*observation.Container{v.Pod.Init, v.Pod.Containers} {
		for _, c := range list {
			if r := crashing(c, i == 0); r.Text != "" {
				r.Container = c.Name
				return killedByProbe(r, c, events)
			}
		}
	}
	if r := resizing(v); r.Text != "" {
		return r
	}
	if text := judge.Ephemeral(v); text != "" {
		what, why, missing := strings.Cut(strings.TrimPrefix(text, "waiting for "), ": ")
		r := waits(what)
		if missing && !has(why, "containercreating", "podinitializing") {
			r.Category, r.Text = EphemeralContainer, r.Text+": "+ending(why, 2)
		}
		return r
	}
	if r := unhealthy(v, events); r.Text != "" {
		return r
	}
	if c := v.Condition(judge.PodReady); c != nil && c.Reason == "ReadinessGatesNotReady" {
		r := waits("its readiness gates: " + says(c))
		r.Category, r.For = ReadinessGate, "its readiness gates"
		return r
	}
	return unready(v)
}

// failedPod is the reason of a Pod of phase Failed.
func failedPod(v *history.Version) Reason {
	if c := v.Condition("DisruptionTarget"); c != nil && c.Reason == "DeletionByPodGC" &&
		has(c.Message, "node no longer exists") {
		return nodeMissing(v)
	}
	r := Reason{Category: PodFailed, Text: judge.Failure(v), For: "its containers"}
	switch {
	case v.Pod.Reason == "Evicted":
		r.Category = Evicted
	case has(v.Pod.Reason, "preempt"):
		r.Category = Preempted
	case v.Pod.Reason == "NodeLost":
		r.Category = NodeLost
	case slices.ContainsFunc(v.Pod.Containers, func(c *observation.Container) bool { return killed(c.State) }):
		r.Category = OutOfMemory
	}
	if r.Text == "" {
		r.Text = "failed"
	}
	for _, c := range judge.ByBlame(v.Pod) {
		if judge.ExitMessage(c.Name, c.State) != "" {
			r.Container = c.Name
			break
		}
	}
	return r
}

// evictedPod is the reason of a Pod that the kubelet has evicted and whose containers have then ended
// without an error. Its phase is Succeeded; only the Event tells.
func evictedPod(v *history.Version, events []*history.Event) Reason {
	e := newest(events, "Evicted")
	if e == nil || v.Pod == nil || v.Pod.Phase != "Succeeded" {
		return Reason{}
	}
	return Reason{
		Category: Evicted, Text: "was evicted: " + strings.TrimSuffix(explained(e.Reason, e.Note), "."),
		For: "its containers", Since: e.At().At().Time,
	}
}

// Exit says which container of a Pod ended with an error, in this version or before its restart; "" if none did.
func Exit(v *history.Version) string {
	if v.Pod == nil {
		return ""
	}
	for _, c := range judge.ByBlame(v.Pod) {
		for _, s := range []*observation.ContainerState{c.State, c.Last} {
			exit := judge.ExitMessage(c.Name, s)
			if exit == "" {
				continue
			}
			if c.Restarts > 0 {
				exit += ", restarted " + times(c.Restarts)
			}
			return exit
		}
	}
	return ""
}

// crashing is the reason of a container that has ended with an error.
func crashing(c *observation.Container, init bool) Reason {
	if r := unstarted(c, init); r.Text != "" {
		return r
	}
	exit, last := judge.ExitMessage(c.Name, c.State), c.State
	if exit == "" && c.Last != nil && !c.Ready && c.Restarts > 0 {
		exit, last = judge.ExitMessage(c.Name, c.Last), c.Last
	}
	if exit == "" {
		if c.State != nil && c.State.Waiting && c.State.Reason == "CrashLoopBackOff" {
			return Reason{
				Category: CrashLoop, For: "container " + c.Name,
				Text: fmt.Sprintf("is in a crash loop: container %s has ended %s", c.Name, times(c.Restarts)),
			}
		}
		return Reason{}
	}
	r := Reason{Category: CrashLoop, For: "container " + c.Name, Text: exit}
	if init {
		r.Category, r.Text = InitFailed, "init "+exit
	}
	if killed(last) {
		r.Category = OutOfMemory
	}
	if c.Restarts > 0 {
		r.Text = fmt.Sprintf("is in a crash loop: %s, restarted %s", r.Text, times(c.Restarts))
		return r
	}
	r.Text = "has no running container: " + r.Text
	return r
}

// probes are the probes whose failure ends a container, by the first word of their Events.
var probes = []struct {
	name     string
	category Category
}{{"Liveness", LivenessProbe}, {"Startup", StartupProbe}}

// killedByProbe returns the reason r of a container that has ended. If the kubelet has stopped it after a
// failed probe, the reason is that probe.
func killedByProbe(r Reason, c *observation.Container, events []*history.Event) Reason {
	ended := c.State
	if !ended.Terminated() {
		ended = c.Last
	}
	if r.Category != CrashLoop || c.Restarts == 0 || !ended.Terminated() {
		return r
	}
	run := slices.DeleteFunc(slices.Clone(events), func(e *history.Event) bool {
		return e.FieldPath != "spec.containers{"+c.Name+"}" || e.At().At().Before(ended.Started)
	})
	stopped, failing := newest(run, "Killing"), newest(run, "Unhealthy")
	for _, p := range probes {
		if stopped == nil || !has(stopped.Note, "failed "+strings.ToLower(p.name)+" probe") {
			continue
		}
		r.Category = p.category
		r.Text = fmt.Sprintf(
			"is in a crash loop: the %s probe stops container %s, restarted %s",
			strings.ToLower(p.name), c.Name, times(c.Restarts),
		)
		if failing != nil && strings.HasPrefix(failing.Note, p.name) {
			r.Text += ": " + strings.TrimSuffix(failing.Note, ": ")
		}
	}
	return r
}

func killed(s *observation.ContainerState) bool { return s.Terminated() && s.Reason == "OOMKilled" }

// unstarted is the reason of a container that the runtime could not start. Between two attempts it waits.
func unstarted(c *observation.Container, init bool) Reason {
	for _, s := range []*observation.ContainerState{c.State, c.Last} {
		if s.Terminated() && (s.Reason == "StartError" || s.Reason == "ContainerCannotRun") && !c.Ready {
			return notStarted(c, init, explained(s.Reason, s.Message))
		}
		if s.Running() {
			return Reason{}
		}
	}
	return Reason{}
}

// times returns a number of times as words.
func times(n int32) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// resizing is the reason of a Pod whose resources change in place.
func resizing(v *history.Version) Reason {
	c := judge.Resizing(v)
	switch {
	case c == nil:
		return Reason{}
	case judge.Infeasible(v) != "":
		return Reason{Category: ResizeInfeasible, Text: "cannot be resized: " + says(c), For: "its resize"}
	case c.Reason == "Deferred":
		return Reason{Category: ResizeDeferred, Text: "waits for its resize: " + says(c), For: "its resize"}
	}
	return Reason{Text: "waits for its resize", For: "its resize"}
}

// unhealthy is the reason of a container whose probe fails.
func unhealthy(v *history.Version, events []*history.Event) Reason {
	e := newest(events, "Unhealthy")
	if e == nil {
		return Reason{}
	}
	name := strings.TrimSuffix(strings.TrimPrefix(e.FieldPath, "spec.containers{"), "}")
	c := v.Pod.Container(name, false)
	if c == nil || c.Ready || !c.State.Running() || e.At().At().Before(c.State.Started) {
		return Reason{}
	}
	r := Reason{Category: ReadinessProbe, Container: name, For: "container " + name + " to be ready"}
	switch {
	case strings.HasPrefix(e.Note, "Startup"):
		r.Category = StartupProbe
	case strings.HasPrefix(e.Note, "Liveness"):
		r.Category = LivenessProbe
	}
	r.Text = fmt.Sprintf("waits for container %s to be ready: %s", name, strings.TrimSuffix(e.Note, ": "))
	return r
}

// unready is the ordinary wait of a Pod on a node.
func unready(v *history.Version) Reason {
	verb := "to be ready"
	if o := object.ControllerOf(v.Owners); o != nil && kind.Job.Is(o.Kind) {
		verb = "to complete"
	}
	for _, c := range v.Pod.Init {
		if c.State == nil || c.State.Waiting || c.State.Running() && !c.Sidecar {
			return waits("init container " + c.Name + " to complete")
		}
	}
	for _, c := range v.Pod.Containers {
		switch {
		case c.Ready && verb == "to be ready", c.State.Terminated():
		case c.State == nil || c.State.Waiting:
			return waits("container " + c.Name + " to start")
		default:
			return waits("container " + c.Name + " " + verb)
		}
	}
	return Reason{Text: "waits to be ready", For: "its condition Ready"}
}
