// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 contains the kind of the scheduler operator: SchedulingPolicy.
// +kubebuilder:object:generate=true
// +groupName=scheduling.lifeline.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0 object:headerFile=../boilerplate.go.txt crd paths=. output:crd:dir=../../config/crd

// GroupVersion is the API group and version of this package.
var GroupVersion = schema.GroupVersion{Group: "scheduling.lifeline.dev", Version: "v1alpha1"}

// AddToScheme adds the kind to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &SchedulingPolicy{}, &SchedulingPolicyList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
