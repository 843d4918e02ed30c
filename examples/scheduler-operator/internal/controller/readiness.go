// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/examples/scheduler-operator/api/v1alpha1"
)

// errNotStarted replaces the error of a start in spans and in the status. That one has a line of the
// scheduler's log, which may quote the configuration.
var errNotStarted = errors.New("the scheduler did not start; see its log")

// readiness is the condition Ready of a policy. Its message is the same after a repeated reconcile: each
// change of it would be a write, and a further reconcile.
type readiness struct {
	status          metav1.ConditionStatus
	reason, message string
}

func ready() readiness {
	return readiness{metav1.ConditionTrue, v1alpha1.ReasonReady, "the scheduler runs the profile"}
}

func replacing() readiness {
	return readiness{metav1.ConditionFalse, v1alpha1.ReasonReplacing, "workloads are being placed"}
}

func failed() readiness {
	return readiness{metav1.ConditionFalse, v1alpha1.ReasonSchedulerFailed, errNotStarted.Error()}
}

// rejected is the readiness of a policy whose profile does not run, and is not tried again.
func rejected(why string) readiness {
	return readiness{
		metav1.ConditionFalse, v1alpha1.ReasonSchedulerFailed,
		"the scheduler runs with the last profile, as it does not start with this one: " + why,
	}
}

// setReady updates a status. An up-to-date status stays unchanged.
func setReady(s *v1alpha1.SchedulingPolicyStatus, generation int64, r readiness) {
	s.ObservedGeneration = generation
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type:               v1alpha1.Ready,
		Status:             r.status,
		ObservedGeneration: generation,
		Reason:             r.reason,
		Message:            r.message,
	})
}
