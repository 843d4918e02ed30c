// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/examples/scheduler-operator/api/v1alpha1"
)

// readiness is the condition Ready of a policy. Its message has no numbers: each change of a number
// would be a write.
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
	return readiness{metav1.ConditionFalse, v1alpha1.ReasonSchedulerFailed, "the scheduler did not start; see its log"}
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
