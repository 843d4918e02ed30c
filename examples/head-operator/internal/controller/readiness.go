// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	demov1alpha1 "github.com/kube-lifeline/lifeline/examples/head-operator/api/v1alpha1"
)

// readiness is a child's readiness, for its owner's status.
type readiness struct {
	status          metav1.ConditionStatus
	reason, message string
}

func ready(format string, args ...any) readiness {
	return readiness{metav1.ConditionTrue, demov1alpha1.ReasonReady, fmt.Sprintf(format, args...)}
}

func progressing(format string, args ...any) readiness {
	return readiness{metav1.ConditionFalse, demov1alpha1.ReasonProgressing, fmt.Sprintf(format, args...)}
}

// deploymentReadiness returns the readiness of a Deployment. It is ready if every replica runs the
// newest template and is available, without older replicas.
func deploymentReadiness(d *appsv1.Deployment) readiness {
	if !d.DeletionTimestamp.IsZero() {
		return progressing("Deployment %s is being deleted", d.Name)
	}
	if d.Status.ObservedGeneration < d.Generation {
		return progressing("Deployment %s has not been seen by its controller", d.Name)
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse &&
			c.Reason == demov1alpha1.ReasonFailed {
			return readiness{metav1.ConditionFalse, demov1alpha1.ReasonFailed, c.Message}
		}
	}
	want := ptr.Deref(d.Spec.Replicas, 1)
	if s := d.Status; s.Replicas != want || s.UpdatedReplicas != want || s.AvailableReplicas != want {
		// The message has no numbers: each change of a number would be a write, here and in the
		// Head.
		return progressing("Deployment %s is rolling out", d.Name)
	}
	return ready("%d of %d replicas are available", want, want)
}

// childAReadiness returns the ChildA's condition Ready, unless that is about an earlier generation.
func childAReadiness(child *demov1alpha1.ChildA) readiness {
	if !child.DeletionTimestamp.IsZero() {
		return progressing("ChildA %s is being deleted", child.Name)
	}
	c := meta.FindStatusCondition(child.Status.Conditions, demov1alpha1.Ready)
	if c == nil || c.ObservedGeneration < child.Generation {
		return progressing("ChildA %s has not been seen by its controller", child.Name)
	}
	return readiness{c.Status, c.Reason, c.Message}
}

// setStatus updates a status. An up-to-date status stays unchanged.
func setStatus(s *demov1alpha1.Status, generation int64, readyReplicas int32, r readiness) {
	s.ObservedGeneration = generation
	s.ReadyReplicas = readyReplicas
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type:               demov1alpha1.Ready,
		Status:             r.status,
		ObservedGeneration: generation,
		Reason:             r.reason,
		Message:            r.message,
	})
}
