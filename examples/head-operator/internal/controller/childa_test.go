// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	demov1alpha1 "github.com/kube-lifeline/lifeline/examples/head-operator/api/v1alpha1"
)

// newChildA returns a ChildA as the Head controller writes it.
func newChildA(change ...func(*demov1alpha1.ChildA)) *demov1alpha1.ChildA {
	c := &demov1alpha1.ChildA{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name, UID: "child", Generation: 1,
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(newHead(), demov1alpha1.GroupVersion.WithKind("Head")),
			},
		},
		Spec: demov1alpha1.ChildASpec{Image: "web:1", Replicas: 2},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func TestChildACreates(t *testing.T) {
	c := newCluster(t, newChildA())
	r := &ChildAReconciler{Client: c}
	if diff := cmp.Diff([]string{"create Deployment", "update status of ChildA"}, c.reconcile(t, r)); diff != "" {
		t.Errorf("writes: -want +got:\n%s", diff)
	}
	labels := map[string]string{"app.kubernetes.io/name": "childa", "app.kubernetes.io/instance": "web"}
	want := appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](2),
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:1"}}},
		},
	}
	deployment := get(t, c, &appsv1.Deployment{})
	if diff := cmp.Diff(want, deployment.Spec); diff != "" {
		t.Errorf("spec of the Deployment: -want +got:\n%s", diff)
	}
	if owner := metav1.GetControllerOf(deployment); owner == nil || owner.UID != "child" {
		t.Errorf("the Deployment's owner must be the ChildA, not %v", owner)
	}
	if again := c.reconcile(t, r); again != nil {
		t.Errorf("a second reconcile must write nothing, not %v", again)
	}
}

func TestChildAWrites(t *testing.T) {
	cases := map[string]struct {
		reason     string
		child      func(*demov1alpha1.ChildA)
		deployment func(*appsv1.Deployment)
		want       []string
		containers []corev1.Container
	}{
		"Defaults": {
			reason: "defaults of the API server stay",
			deployment: func(d *appsv1.Deployment) {
				d.Spec.RevisionHistoryLimit = ptr.To[int32](10)
				d.Spec.Template.Spec.Containers[0].ImagePullPolicy = corev1.PullIfNotPresent
			},
			containers: []corev1.Container{{Name: "main", Image: "web:1", ImagePullPolicy: corev1.PullIfNotPresent}},
		},
		"Sidecar": {
			reason: "additions of other writers stay",
			child:  func(c *demov1alpha1.ChildA) { c.Spec.Image = "web:2" },
			deployment: func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers = append(
					[]corev1.Container{{Name: "side", Image: "side:1"}},
					d.Spec.Template.Spec.Containers...)
			},
			want:       []string{"update Deployment"},
			containers: []corev1.Container{{Name: "side", Image: "side:1"}, {Name: "main", Image: "web:2"}},
		},
		"Drift": {
			reason: "a manual change is reverted",
			deployment: func(d *appsv1.Deployment) {
				d.Spec.Replicas = ptr.To[int32](7)
				d.Spec.Template.Spec.Containers[0].Image = "other"
			},
			want:       []string{"update Deployment"},
			containers: []corev1.Container{{Name: "main", Image: "web:1"}},
		},
		"Deleted": {
			reason: "a ChildA in deletion gets no Deployment",
			child: func(c *demov1alpha1.ChildA) {
				c.DeletionTimestamp, c.Finalizers = ptr.To(metav1.Now()), []string{metav1.FinalizerDeleteDependents}
				c.Spec.Image = "web:2"
			},
			containers: []corev1.Container{{Name: "main", Image: "web:1"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
				Namespace: key.Namespace,
				Name:      key.Name,
				OwnerReferences: []metav1.OwnerReference{
					*metav1.NewControllerRef(newChildA(), demov1alpha1.GroupVersion.WithKind("ChildA")),
				},
			}}
			setDeployment(deployment, newChildA())
			if tc.deployment != nil {
				tc.deployment(deployment)
			}
			child := newChildA()
			setStatus(&child.Status, 1, 0, deploymentReadiness(deployment))
			if tc.child != nil {
				tc.child(child)
			}
			c := newCluster(t, child, deployment)
			if diff := cmp.Diff(tc.want, c.reconcile(t, &ChildAReconciler{Client: c})); diff != "" {
				t.Errorf("\n%s\nwrites: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.containers, get(t, c, deployment).Spec.Template.Spec.Containers); diff != "" {
				t.Errorf("\n%s\ncontainers: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
