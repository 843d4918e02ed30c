// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Ready is the type of the condition for an object that has reached its spec.
const Ready = "Ready"

// Reasons of the condition Ready.
const (
	// ReasonReady means that every replica runs the current spec.
	ReasonReady = "Ready"
	// ReasonProgressing means that replicas are missing or out of date.
	ReasonProgressing = "Progressing"
	// ReasonFailed means that the Deployment exceeded its progress deadline.
	ReasonFailed = "ProgressDeadlineExceeded"
)

// Status is how far an object of either kind has come.
type Status struct {
	// observedGeneration is the generation that the rest of the status is
	// about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// readyReplicas is how many replicas are ready, of whatever generation.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// conditions has one member, Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
