// SPDX-License-Identifier: Apache-2.0

package span

import "go.opentelemetry.io/otel/attribute"

// Phase is a step in the life of an object, with spans of its own below the reconciliation. Spans of one phase may
// overlap, such as the pulls of two images.
type Phase struct {
	// Span is the name of its spans. Name is its name in questions, after "phase.".
	Span, Name string
	// Number is its number in archives, from 1. It is never used for another phase.
	Number  byte
	Meaning string
	// OfPod is true for the phases of a Pod.
	OfPod bool
	// Detail is the attribute that distinguishes spans of this name in labels.
	Detail attribute.Key
}

// phases are all phases; those of a Pod come first, in the order of its life. A new phase needs a row here, its steps
// in package phase, and the name of its spans in the vocabulary.
var phases = []Phase{
	{NameSchedule, "schedule", 1, "Pod created → bound to a node", true, ""},
	{NameAttach, "attach", 14, "volumes attached to the node of a Pod", true, KeyVolume},
	{NameSandbox, "sandbox", 2, "volumes, network and sandbox of a Pod", true, ""},
	{NamePull, "pull", 3, "pulls of images", true, KeyImage},
	{NameInit, "init", 4, "init containers", true, ""},
	{NameStart, "start", 5, "containers created → started", true, ""},
	{NameRunning, "run", 6, "runs of containers that exit, as those of a Job", true, ""},
	{NameBackoff, "backoff", 7, "waits that the kubelet imposed", true, ""},
	{NameReadiness, "readiness", 8, "last container started → Ready", true, ""},
	{NamePublish, "publish", 9, "Ready → ready endpoint of each Service", true, KeyService},
	{NameTerminate, "terminate", 10, "deletion requested → gone", true, ""},
	{NameCondition, "condition", 11, "conditions false → true, of kinds without other phases", false, KeyCondition},
	{NameRetry, "retry", 12, "pauses before a Job tries again", false, ""},
	{NameAddress, "address", 13, "write → address of a load balancer", false, ""},
}

// Phases returns all phases. The caller must not change them.
func Phases() []Phase { return phases }

// phaseByName has the phases by the name of their spans. orderOfPhase ranks those of a Pod that start at the same
// moment, from 1.
var phaseByName, orderOfPhase = func() (map[string]*Phase, map[string]int) {
	byName, order := map[string]*Phase{}, map[string]int{}
	for i := range phases {
		p := &phases[i]
		byName[p.Span] = p
		if p.OfPod {
			order[p.Span] = i + 1
		}
	}
	return byName, order
}()

// orderOfReconciliations ranks reconciliations after all phases.
var orderOfReconciliations = len(phases)

// phaseOf returns the phase with spans of that name; the zero Phase for another name.
func phaseOf(name string) Phase {
	if p := phaseByName[name]; p != nil {
		return *p
	}
	return Phase{}
}
