// SPDX-License-Identifier: Apache-2.0

package observation

import "time"

// Pod is the part of a Pod from which its phases are derived.
type Pod struct {
	// Node is spec.nodeName; empty until bound.
	Node           string `json:"node,omitempty"`
	Scheduler      string `json:"scheduler,omitempty"`
	RestartPolicy  string `json:"restartPolicy,omitempty"`
	PriorityClass  string `json:"priorityClass,omitempty"`
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// ReadinessGates and SchedulingGates are the condition types and gate names that the Pod waits
	// for.
	ReadinessGates  []string `json:"readinessGates,omitempty"`
	SchedulingGates []string `json:"schedulingGates,omitempty"`
	Volumes         int      `json:"volumes,omitempty"`
	// Scheduled is the admission time of the binding request, from an annotation
	// (object.AnnotationScheduled) that any user may write; zero if there is none.
	Scheduled time.Time `json:"scheduled,omitzero"`

	Phase   string `json:"phase,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Started is status.startTime, the kubelet's first sight of the Pod.
	Started time.Time `json:"started,omitzero"`

	// Init and Containers are in the order of the spec.
	Init       []Container `json:"init,omitempty"`
	Containers []Container `json:"containers,omitempty"`
}

// Container is one container, from the spec and the status if there is one.
type Container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
	// Sidecar marks an init container that keeps running
	// (restartPolicy: Always).
	Sidecar bool `json:"sidecar,omitempty"`
	// PostStart and PreStop report such hooks, StartupProbe and ReadinessProbe such probes.
	PostStart      bool `json:"postStart,omitempty"`
	PreStop        bool `json:"preStop,omitempty"`
	StartupProbe   bool `json:"startupProbe,omitempty"`
	ReadinessProbe bool `json:"readinessProbe,omitempty"`

	ID       string `json:"id,omitempty"`
	Ready    bool   `json:"ready,omitempty"`
	Started  bool   `json:"started,omitempty"`
	Restarts int32  `json:"restarts,omitempty"`
	// State and Last are the current and the previous state; nil if the kubelet has not reported
	// one.
	State *ContainerState `json:"state,omitempty"`
	Last  *ContainerState `json:"last,omitempty"`
}

// ContainerState is waiting, running (Started set) or terminated (Finished
// set). All times have whole seconds.
type ContainerState struct {
	// Waiting means that the container waits, for Reason.
	Waiting  bool      `json:"waiting,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Message  string    `json:"message,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	ExitCode int32     `json:"exitCode,omitempty"`
	Signal   int32     `json:"signal,omitempty"`
}

// Terminated reports whether the state is that of an ended container.
func (s *ContainerState) Terminated() bool {
	return s != nil && !s.Waiting && !s.Finished.IsZero()
}

// Running reports whether the state is that of a running container.
func (s *ContainerState) Running() bool {
	return s != nil && !s.Waiting && s.Finished.IsZero() && !s.Started.IsZero()
}
