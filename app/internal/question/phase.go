// SPDX-License-Identifier: Apache-2.0

package question

import "github.com/kube-lifeline/lifeline/app/internal/span"

// Phase is a part of a lifecycle with a length of its own. Spans of one phase may overlap, such as
// the pulls of two images. The length counts common time once.
type Phase struct {
	// Name is the name in a question, after "phase.".
	Name string
	// Span is the name of the spans of the phase; empty if the phase has none of its own.
	Span    string
	Meaning string
}

// Phases returns the common phases, in the order of a Pod's life.
func Phases() []Phase {
	return []Phase{
		{"startup", "", "Pod created → Ready"},
		{"schedule", span.NameSchedule, "Pod created → bound to a node"},
		{"sandbox", span.NameSandbox, "volumes, network and sandbox of a Pod"},
		{"pull", span.NamePull, "pulls of images"},
		{"init", span.NameInit, "init containers"},
		{"start", span.NameStart, "containers created → started"},
		{"run", span.NameRunning, "runs of containers that exit, as those of a Job"},
		{"backoff", span.NameBackoff, "waits that the kubelet imposed"},
		{"readiness", span.NameReadiness, "last container started → Ready"},
		{"publish", span.NamePublish, "Ready → ready endpoint of each Service"},
		{"terminate", span.NameTerminate, "deletion requested → gone"},
		{"condition", span.NameCondition, "conditions false → true, of kinds without other phases"},
		{"retry", span.NameRetry, "pauses before a Job tries again"},
		{"address", span.NameAddress, "write → address of a load balancer"},
	}
}
