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

func TestDeploymentReadiness(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*appsv1.Deployment)
		want   readiness
	}{
		"Ready": {
			reason: "all replicas run the newest template and are available",
			change: func(*appsv1.Deployment) {},
			want:   ready("2 of 2 replicas are available"),
		},
		"None": {
			reason: "0 desired replicas and 0 existing ones",
			change: func(d *appsv1.Deployment) {
				d.Spec.Replicas, d.Status = ptr.To[int32](0), appsv1.DeploymentStatus{ObservedGeneration: 3}
			},
			want: ready("0 of 0 replicas are available"),
		},
		"Unseen": {
			reason: "the status is about an earlier generation",
			change: func(d *appsv1.Deployment) { d.Generation = 4 },
			want:   progressing("Deployment web has not been seen by its controller"),
		},
		"Unavailable": {
			reason: "a replica is missing",
			change: func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 },
			want:   progressing("Deployment web is rolling out"),
		},
		"Surge": {
			reason: "a replica of the old template remains",
			change: func(d *appsv1.Deployment) { d.Status.Replicas = 3 },
			want:   progressing("Deployment web is rolling out"),
		},
		"Stuck": {
			reason: "the Deployment exceeded its progress deadline",
			change: func(d *appsv1.Deployment) {
				d.Status.UpdatedReplicas = 1
				d.Status.Conditions = []appsv1.DeploymentCondition{{
					Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse,
					Reason: "ProgressDeadlineExceeded", Message: "ReplicaSet web-1 has timed out progressing.",
				}}
			},
			want: readiness{
				metav1.ConditionFalse,
				demov1alpha1.ReasonFailed,
				"ReplicaSet web-1 has timed out progressing.",
			},
		},
		"Deleted": {
			reason: "an object in deletion is not ready",
			change: func(d *appsv1.Deployment) { d.DeletionTimestamp = ptr.To(metav1.Now()) },
			want:   progressing("Deployment web is being deleted"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 3},
				Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)},
				Status: appsv1.DeploymentStatus{
					ObservedGeneration: 3,
					Replicas:           2,
					UpdatedReplicas:    2,
					AvailableReplicas:  2,
				},
			}
			tc.change(d)
			if diff := cmp.Diff(tc.want, deploymentReadiness(d), cmp.AllowUnexported(readiness{})); diff != "" {
				t.Errorf("\n%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestChildAReadiness(t *testing.T) {
	isReady := ready("1 of 1 replicas are available")
	cases := map[string]struct {
		reason string
		change func(*demov1alpha1.ChildA)
		want   readiness
	}{
		"Repeated": {
			reason: "the condition of the current generation counts",
			change: func(*demov1alpha1.ChildA) {},
			want:   isReady,
		},
		"Silent": {
			reason: "a new ChildA has no condition",
			change: func(c *demov1alpha1.ChildA) { c.Status = demov1alpha1.Status{} },
			want:   progressing("ChildA web has not been seen by its controller"),
		},
		"Outdated": {
			reason: "a condition of an earlier generation does not count",
			change: func(c *demov1alpha1.ChildA) { c.Generation = 2 },
			want:   progressing("ChildA web has not been seen by its controller"),
		},
		"Deleted": {
			reason: "an object in deletion is not ready",
			change: func(c *demov1alpha1.ChildA) { c.DeletionTimestamp = ptr.To(metav1.Now()) },
			want:   progressing("ChildA web is being deleted"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newChildA()
			setStatus(&c.Status, c.Generation, 1, isReady)
			tc.change(c)
			if diff := cmp.Diff(tc.want, childAReadiness(c), cmp.AllowUnexported(readiness{})); diff != "" {
				t.Errorf("\n%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
