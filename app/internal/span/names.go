// SPDX-License-Identifier: Apache-2.0

package span

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// Names of spans. Part of a name stands for a kind where vocabulary.go shows
// <Kind>. To change one, read docs/span-names.md.
const (
	NameRun = "run"
	// NameAmend is a new claim about the outcome of a reconciliation, and NameLate another late fact about it.
	// NameAftermath is what happened to the Pods of a change after its convergence.
	NameAmend     = "amend"
	NameLate      = "late fact"
	NameAftermath = "aftermath"

	NameSchedule  = "schedule"
	NameAttach    = "attach"
	NameSandbox   = "sandbox"
	NamePull      = "pull image"
	NameInit      = "init container"
	NameStart     = "start container"
	NameRunning   = "run container"
	NameBackoff   = "backoff"
	NameReadiness = "readiness"
	NamePublish   = "publish endpoint"
	NameTerminate = "terminate"
	NameCondition = "condition"
	NameRetry     = "retry pause"
	NameAddress   = "assign address"

	reconcile = "reconcile "
)

// Names of span events.
const (
	// EventWrite records one stored write.
	EventWrite = "write"
	// EventExited records the exit of a container.
	EventExited = "container exited"
	// EventUnschedulable records a failed attempt to schedule a Pod.
	EventUnschedulable = "scheduling failed"
	// EventAutoscale records the metrics by which an autoscaler decided.
	EventAutoscale = "autoscale"
	// EventPrefix begins the name of a span event for a Kubernetes Event. The
	// reason follows.
	EventPrefix = "event "
)

// ReconcileName is the name of the reconciliation of an object of a kind:
// "reconcile Deployment".
func ReconcileName(kind string) string { return reconcile + kind }

// IsReconciliation reports whether s is the reconciliation of an object.
func (s *Span) IsReconciliation() bool { return IsReconcileName(s.Name) }

// IsReconcileName reports whether a name, or a label that begins with one, is that of a reconciliation.
func IsReconcileName(name string) bool { return strings.HasPrefix(name, reconcile) }

// IsPodPhase reports whether s has the name of a phase of a Pod.
func (s *Span) IsPodPhase() bool { return phaseOf(s.Name).OfPod }

// Detail is the attribute that distinguishes spans of this name in labels:
// the image of a pull, the type of a condition. It is empty for other names.
func (s *Span) Detail() attribute.Key { return phaseOf(s.Name).Detail }

// order ranks spans that start at the same moment.
func (s *Span) order() int {
	if s.IsReconciliation() {
		return orderOfReconciliations
	}
	return orderOfPhase[s.Name]
}
