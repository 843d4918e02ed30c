// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	demov1alpha1 "github.com/kube-lifeline/lifeline/examples/head-operator/api/v1alpha1"
)

const containerName = "main"

// setDeployment sets the ChildA's fields in its Deployment. It keeps other values, such as defaults
// of the API server or a sidecar. Thus an up-to-date Deployment stays equal and is not written.
func setDeployment(d *appsv1.Deployment, child *demov1alpha1.ChildA) {
	d.Spec.Replicas = ptr.To(child.Spec.Replicas)
	if d.Spec.Selector == nil { // immutable
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels(child)}
	}

	template := &d.Spec.Template
	for key, value := range labels(child) {
		metav1.SetMetaDataLabel(&template.ObjectMeta, key, value)
	}
	container := slices.IndexFunc(
		template.Spec.Containers,
		func(c corev1.Container) bool { return c.Name == containerName },
	)
	if container < 0 {
		container = len(template.Spec.Containers)
		template.Spec.Containers = append(template.Spec.Containers, corev1.Container{Name: containerName})
	}
	template.Spec.Containers[container].Image = child.Spec.Image
}

// labels returns the labels that select the Pods of one ChildA.
func labels(child *demov1alpha1.ChildA) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":     "childa",
		"app.kubernetes.io/instance": child.Name,
	}
}
