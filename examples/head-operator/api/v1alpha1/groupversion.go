// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 defines the operator's kinds, Head and ChildA. Package controller reconciles
// them, and package webhook sets their defaults. The custom resource definitions in config/crd and
// the copy functions in this folder are generated from it.
//
// +kubebuilder:object:generate=true
// +groupName=demo.lifeline.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0 object:headerFile=../boilerplate.go.txt crd paths=. output:crd:dir=../../config/crd

// GroupVersion is the API group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "demo.lifeline.dev", Version: "v1alpha1"}

// AddToScheme adds the kinds in this package to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Head{}, &HeadList{}, &ChildA{}, &ChildAList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
