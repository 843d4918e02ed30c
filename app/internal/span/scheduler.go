// SPDX-License-Identifier: Apache-2.0

package span

import "go.opentelemetry.io/otel/attribute"

// scopeScheduler is the scope of the spans of the module scheduler. The names below are those of that
// module. docs/span-names.md explains them.
const scopeScheduler = ScopeName + "/scheduler"

// Names of spans of an attempt to schedule a Pod.
const (
	NameAttempt   = "scheduling attempt"
	NameCycle     = "scheduling cycle"
	NamePreFilter = "PreFilter"
	NameFilter    = "Filter"
	NameScore     = "Score"
)

// Values of KeyAttemptOutcome.
const (
	AttemptBound         = "bound"
	AttemptUnschedulable = "unschedulable"
)

// Attributes of the spans of an attempt.
const (
	KeyPodUID          = attribute.Key("k8s.pod.uid")
	KeyAttemptNumber   = attribute.Key("k8s.scheduler.attempt")
	KeyAttemptOutcome  = attribute.Key("k8s.scheduler.outcome")
	KeyPlugin          = attribute.Key("k8s.scheduler.plugin")
	KeyExtender        = attribute.Key("k8s.scheduler.extender")
	KeyPluginMessage   = attribute.Key("k8s.scheduler.message")
	KeyNodesAll        = attribute.Key("k8s.scheduler.nodes.all")
	KeyNodesEvaluated  = attribute.Key("k8s.scheduler.nodes.evaluated")
	KeyNodesFeasible   = attribute.Key("k8s.scheduler.nodes.feasible")
	KeyNodesRejected   = attribute.Key("k8s.scheduler.nodes.rejected")
	KeyNodesKept       = attribute.Key("k8s.scheduler.nodes.kept")
	KeyRejectReasons   = attribute.Key("k8s.scheduler.reject.reasons")
	KeyRejectCounts    = attribute.Key("k8s.scheduler.reject.counts")
	KeyRejectExamples  = attribute.Key("k8s.scheduler.reject.examples")
	KeyScore           = attribute.Key("k8s.scheduler.score")
	KeyScoreSecond     = attribute.Key("k8s.scheduler.score.second")
	KeyScoreSecondNode = attribute.Key("k8s.scheduler.score.second_node")
	KeyScoreEqual      = attribute.Key("k8s.scheduler.score.equal")
	KeyMoveObject      = attribute.Key("k8s.scheduler.queue.event.object")

	// PrefixPreemption begins the attributes about the Pods and the Nodes of a preemption.
	PrefixPreemption = "k8s.scheduler.preemption."
)

// OfScheduler reports whether s is from the module scheduler.
func (s *Span) OfScheduler() bool { return s.Origin != nil && s.Origin.Scope.Name == scopeScheduler }

// IsAttempt reports whether s is an attempt to schedule a Pod.
func (s *Span) IsAttempt() bool { return s.Name == NameAttempt && s.OfScheduler() }
