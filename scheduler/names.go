// SPDX-License-Identifier: Apache-2.0

package scheduler

import "go.opentelemetry.io/otel/attribute"

// Names of spans and their events. Those of an extension point and of a plugin are in spans.go.
const (
	nameAttempt = "scheduling attempt"
	nameWait    = "queue wait"
	nameCycle   = "scheduling cycle"
	nameBinding = "binding cycle"

	eventUngated = "ungated"
	eventBackoff = "backoff ended"
)

// Values of keyOutcome.
const (
	outcomeBound         = "bound"
	outcomeUnschedulable = "unschedulable"
	outcomeError         = "error"
)

// Attributes. docs/span-names.md explains them.
const (
	keyPodUID    = attribute.Key("k8s.pod.uid")
	keyPodName   = attribute.Key("k8s.pod.name")
	keyNamespace = attribute.Key("k8s.namespace.name")
	keyNode      = attribute.Key("k8s.node.name")

	keyProfile   = attribute.Key("k8s.scheduler.profile")
	keyAttempt   = attribute.Key("k8s.scheduler.attempt")
	keyOutcome   = attribute.Key("k8s.scheduler.outcome")
	keyRejectors = attribute.Key("k8s.scheduler.rejectors")
	keyNominated = attribute.Key("k8s.scheduler.nominated_node")

	keyGated   = attribute.Key("k8s.scheduler.queue.gated")
	keyBackoff = attribute.Key("k8s.scheduler.queue.backoff")
	keyFlushed = attribute.Key("k8s.scheduler.queue.flushed")
	keyBefore  = attribute.Key("k8s.scheduler.queue.rejectors")

	keyPoint    = attribute.Key("k8s.scheduler.extension_point")
	keyPlugin   = attribute.Key("k8s.scheduler.plugin")
	keyStatus   = attribute.Key("k8s.scheduler.status")
	keyMessage  = attribute.Key("k8s.scheduler.message")
	keySkipped  = attribute.Key("k8s.scheduler.skipped")
	keyCalls    = attribute.Key("k8s.scheduler.calls")
	keyDuration = attribute.Key("k8s.scheduler.duration")

	keyAllNodes  = attribute.Key("k8s.scheduler.nodes.all")
	keyEvaluated = attribute.Key("k8s.scheduler.nodes.evaluated")
	keyFeasible  = attribute.Key("k8s.scheduler.nodes.feasible")
	keyRejected  = attribute.Key("k8s.scheduler.nodes.rejected")
	keyKept      = attribute.Key("k8s.scheduler.nodes.kept")

	keyReasons  = attribute.Key("k8s.scheduler.reject.reasons")
	keyCounts   = attribute.Key("k8s.scheduler.reject.counts")
	keyExamples = attribute.Key("k8s.scheduler.reject.examples")

	keyScore       = attribute.Key("k8s.scheduler.score")
	keySecondNode  = attribute.Key("k8s.scheduler.score.second_node")
	keySecondScore = attribute.Key("k8s.scheduler.score.second")
	keyEqual       = attribute.Key("k8s.scheduler.score.equal")
)
