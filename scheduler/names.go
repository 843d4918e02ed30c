// SPDX-License-Identifier: Apache-2.0

package scheduler

// Names of spans and their events. Those of an extension point and of a plugin are in spans.go.
const (
	nameAttempt = "scheduling attempt"
	nameWait    = "queue wait"
	nameCycle   = "scheduling cycle"
	nameBinding = "binding cycle"

	eventUngated = "ungated"
	eventBackoff = "backoff ended"
	eventMoved   = "moved"

	// nameExtender stands for the plugin in the name of an extender's span.
	nameExtender = "extender"
	// pointPreEnqueue is the extension point of gates. It belongs to the queue, not to an attempt.
	pointPreEnqueue = "PreEnqueue"
)

// Values of keyOutcome.
const (
	outcomeBound         = "bound"
	outcomeUnschedulable = "unschedulable"
	outcomeError         = "error"
)

// Attributes. docs/span-names.md explains them.
const (
	keyPodUID    key = "k8s.pod.uid"
	keyPodName   key = "k8s.pod.name"
	keyNamespace key = "k8s.namespace.name"
	keyNode      key = "k8s.node.name"

	keyProfile   key = "k8s.scheduler.profile"
	keyAttempt   key = "k8s.scheduler.attempt"
	keyOutcome   key = "k8s.scheduler.outcome"
	keyRejectors key = "k8s.scheduler.rejectors"
	keyNominated key = "k8s.scheduler.nominated_node"

	keyGated   key = "k8s.scheduler.queue.gated"
	keyBackoff key = "k8s.scheduler.queue.backoff"
	keyFlushed key = "k8s.scheduler.queue.flushed"
	keyBefore  key = "k8s.scheduler.queue.rejectors"

	keyMoveEvent  key = "k8s.scheduler.queue.event"
	keyMoveObject key = "k8s.scheduler.queue.event.object"
	keyMovePlugin key = "k8s.scheduler.queue.event.plugin"

	keyExtender key = "k8s.scheduler.extender"

	keyCandidates          key = "k8s.scheduler.preemption.candidates"
	keyCandidateNodes      key = "k8s.scheduler.preemption.candidate.nodes"
	keyCandidateVictims    key = "k8s.scheduler.preemption.candidate.victims"
	keyCandidatePriorities key = "k8s.scheduler.preemption.candidate.priorities"
	keyCandidateViolations key = "k8s.scheduler.preemption.candidate.violations"
	keyDecided             key = "k8s.scheduler.preemption.decided_by"
	keyVictims             key = "k8s.scheduler.preemption.victims"
	keyVictimNames         key = "k8s.scheduler.preemption.victim.names"
	keyVictimPriorities    key = "k8s.scheduler.preemption.victim.priorities"

	keyPoint    key = "k8s.scheduler.extension_point"
	keyPlugin   key = "k8s.scheduler.plugin"
	keyStatus   key = "k8s.scheduler.status"
	keyMessage  key = "k8s.scheduler.message"
	keySkipped  key = "k8s.scheduler.skipped"
	keyCalls    key = "k8s.scheduler.calls"
	keyDuration key = "k8s.scheduler.duration"

	keyAllNodes  key = "k8s.scheduler.nodes.all"
	keyEvaluated key = "k8s.scheduler.nodes.evaluated"
	keyFeasible  key = "k8s.scheduler.nodes.feasible"
	keyRejected  key = "k8s.scheduler.nodes.rejected"
	keyKept      key = "k8s.scheduler.nodes.kept"

	keyReasons  key = "k8s.scheduler.reject.reasons"
	keyCounts   key = "k8s.scheduler.reject.counts"
	keyExamples key = "k8s.scheduler.reject.examples"

	keyScore       key = "k8s.scheduler.score"
	keySecondNode  key = "k8s.scheduler.score.second_node"
	keySecondScore key = "k8s.scheduler.score.second"
	keyEqual       key = "k8s.scheduler.score.equal"
)
