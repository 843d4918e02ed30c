// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube-lifeline/lifeline/examples/scheduler-operator/api/v1alpha1"
)

// Restarted is the annotation of a Pod template whose Pods were placed again. Its value is the time
// of the profile's change.
const Restarted = "scheduling.lifeline.dev/restarted-for"

// place restarts the selected Deployments that are older than the profile. It returns the policy's
// readiness.
func (r *PolicyReconciler) place(ctx context.Context, policy *v1alpha1.SchedulingPolicy) (readiness, error) {
	if policy.Spec.Workloads == nil {
		return ready(), nil
	}
	selector, err := metav1.LabelSelectorAsSelector(policy.Spec.Workloads)
	if err != nil {
		return readiness{}, fmt.Errorf("cannot read the selector of SchedulingPolicy %s: %w", policy.Name, err)
	}
	var list appsv1.DeploymentList
	if err := r.List(ctx, &list, client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return readiness{}, fmt.Errorf("cannot list the Deployments of SchedulingPolicy %s: %w", policy.Name, err)
	}
	out := ready()
	for i := range list.Items {
		d := &list.Items[i]
		if d.Spec.Template.Spec.SchedulerName != policy.Name || !d.DeletionTimestamp.IsZero() {
			continue
		}
		if outdated(d, policy.Status.Changed) {
			if err := r.restart(ctx, d, policy.Status.Changed); err != nil {
				return readiness{}, err
			}
		}
		if !rolledOut(d) {
			out = replacing()
		}
	}
	return out, nil
}

// outdated reports whether an earlier profile may have placed the Pods of a Deployment.
func outdated(d *appsv1.Deployment, changed *metav1.MicroTime) bool {
	return changed != nil && !d.CreationTimestamp.After(changed.Time) &&
		d.Spec.Template.Annotations[Restarted] != text(changed)
}

// restart makes the Deployment replace its Pods.
func (r *PolicyReconciler) restart(ctx context.Context, d *appsv1.Deployment, changed *metav1.MicroTime) error {
	before := d.DeepCopy()
	metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, Restarted, text(changed))
	if err := r.Patch(ctx, d, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("cannot restart Deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	log.FromContext(ctx).Info("Deployment restarted", "Deployment", client.ObjectKeyFromObject(d))
	return nil
}

func text(t *metav1.MicroTime) string { return t.UTC().Format(metav1.RFC3339Micro) }

// rolledOut reports whether all Pods of a Deployment are of its template, and available.
func rolledOut(d *appsv1.Deployment) bool {
	want := ptr.Deref(d.Spec.Replicas, 1)
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.Replicas == want && s.UpdatedReplicas == want &&
		s.AvailableReplicas == want
}
