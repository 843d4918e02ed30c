// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// The API group of admission, and its kinds that change objects.
const (
	Admission             = "admissionregistration.k8s.io"
	MutatingPolicy        = "MutatingAdmissionPolicy"
	MutatingPolicyBinding = "MutatingAdmissionPolicyBinding"
	MutatingWebhooks      = "MutatingWebhookConfiguration"
)

// NewPods stands for all new Pods in the relations of admission. No object has this name.
var NewPods = object.Name{Kind: "New", Name: "pods"}
