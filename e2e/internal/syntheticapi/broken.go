// SPDX-License-Identifier: Apache-2.0

package syntheticapi

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// missingImage is the image of a cause: the registry lacks it.
func missingImage(cause int) string {
	return fmt.Sprintf("registry.example.com/shop/missing-%02d:v1.43.0", cause)
}

// addBroken adds Deployments of one Pod each, which waits for a missing image. The causes have equal shares.
func (c *Cluster) addBroken(s *store, began time.Time) {
	waits := make([]*template, c.size.Causes)
	for i := range waits {
		waits[i] = newTemplate(podWithout(missingImage(i)), podWidths)
	}
	for i := range c.size.Broken {
		cause := i % len(waits)
		d := &deployment{
			namespace: namespaceName(i % c.size.Namespaces), name: fmt.Sprintf("bad-%04d", i), uid: c.uid(),
			created: began, changed: began, generation: 1, revision: 1, observed: 1, wanted: 1,
		}
		d.current = c.newSet(d, began)
		d.current.wanted, d.current.total = 1, 1
		p := c.newPod(d, d.current, began)
		s.put(pods, d.namespace, p.values.text[name], &templated{waits[cause], p.values})
		s.put(replicaSets, d.namespace, d.current.name, &built{func() object {
			o := d.current.object(d)
			o.Spec.Template.Spec.Containers[0].Image = missingImage(cause)
			return o
		}})
		s.put(deployments, d.namespace, d.name, &built{func() object {
			return deploymentWithout(d, missingImage(cause))
		}})
	}
}

// podWithout returns a Pod whose first image is missing, with placeholders.
func podWithout(image string) *corev1.Pod {
	p := podAt(podSandboxed)
	p.Spec.Containers[0].Image = image
	first := &p.Status.ContainerStatuses[0]
	first.Image = image
	first.State.Waiting = &corev1.ContainerStateWaiting{
		Reason: "ImagePullBackOff", Message: fmt.Sprintf("Back-off pulling image %q", image),
	}
	return p
}

// deploymentWithout returns a Deployment whose first image is missing, after its progress deadline.
func deploymentWithout(d *deployment, image string) *appsv1.Deployment {
	o := d.object()
	o.Spec.Template.Spec.Containers[0].Image = image
	for i := range o.Status.Conditions {
		condition := &o.Status.Conditions[i]
		condition.Status = corev1.ConditionFalse
		switch condition.Type {
		case appsv1.DeploymentAvailable:
			condition.Reason = "MinimumReplicasUnavailable"
			condition.Message = "Deployment does not have minimum availability."
		case appsv1.DeploymentProgressing:
			condition.Reason = "ProgressDeadlineExceeded"
			condition.Message = fmt.Sprintf("ReplicaSet %q has timed out progressing.", d.current.name)
		}
	}
	return o
}
