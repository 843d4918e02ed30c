// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// pod reads a Pod. It never reads the environment, commands or arguments of its containers.
func pod(obj fields) *observation.Pod {
	spec, status := sub(obj, "spec"), sub(obj, "status")
	return &observation.Pod{
		Node:            word(spec, "nodeName"),
		Scheduler:       word(spec, "schedulerName"),
		RestartPolicy:   word(spec, "restartPolicy"),
		PriorityClass:   word(spec, "priorityClassName"),
		ServiceAccount:  word(spec, "serviceAccountName"),
		ReadinessGates:  words(spec, "readinessGates", "conditionType"),
		SchedulingGates: words(spec, "schedulingGates", "name"),
		Volumes:         len(items(spec, "volumes")),
		Scheduled: object.ParseScheduled(
			raw(sub(sub(obj, "metadata"), "annotations"), object.AnnotationScheduled),
		),
		Phase:      word(status, "phase"),
		Reason:     word(status, "reason"),
		Message:    raw(status, "message"),
		Started:    moment(status, "startTime"),
		Init:       containers(items(spec, "initContainers"), items(status, "initContainerStatuses")),
		Containers: containers(items(spec, "containers"), items(status, "containerStatuses")),
	}
}

// containers joins the containers of a spec, in its order, to their statuses.
func containers(specs, statuses []any) []observation.Container {
	if len(specs) == 0 {
		return nil
	}
	out := make([]observation.Container, 0, len(specs))
	for _, spec := range specs {
		m, _ := spec.(fields)
		lifecycle := sub(m, "lifecycle")
		c := observation.Container{
			Name:           word(m, "name"),
			Image:          word(m, "image"),
			Sidecar:        raw(m, "restartPolicy") == "Always",
			PostStart:      lifecycle["postStart"] != nil,
			PreStop:        lifecycle["preStop"] != nil,
			StartupProbe:   m["startupProbe"] != nil,
			ReadinessProbe: m["readinessProbe"] != nil,
		}
		if status := named(statuses, raw(m, "name")); status != nil {
			c.ID = text(status, "containerID")
			c.Ready = truth(status, "ready")
			c.Started = truth(status, "started")
			c.Restarts = int32(number(status, "restartCount")) //nolint:gosec // an int32 in the API
			c.State = containerState(sub(status, "state"))
			c.Last = containerState(sub(status, "lastState"))
		}
		out = append(out, c)
	}
	return out
}

func named(list []any, name string) fields {
	for _, item := range list {
		if m, _ := item.(fields); raw(m, "name") == name {
			return m
		}
	}
	return nil
}

func containerState(state fields) *observation.ContainerState {
	if m := sub(state, "running"); m != nil {
		return &observation.ContainerState{Started: moment(m, "startedAt")}
	}
	if m := sub(state, "terminated"); m != nil {
		return &observation.ContainerState{
			Reason:   word(m, "reason"),
			Message:  raw(m, "message"),
			Started:  moment(m, "startedAt"),
			Finished: moment(m, "finishedAt"),
			ExitCode: int32(number(m, "exitCode")), //nolint:gosec // an int32 in the API
			Signal:   int32(number(m, "signal")),   //nolint:gosec // an int32 in the API
		}
	}
	if m := sub(state, "waiting"); m != nil {
		return &observation.ContainerState{
			Waiting: true,
			Reason:  word(m, "reason"),
			Message: raw(m, "message"),
		}
	}
	return nil
}
