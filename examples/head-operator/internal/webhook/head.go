// SPDX-License-Identifier: Apache-2.0

// Package webhook completes Heads at admission. What the API server can check
// by itself is left to the custom resource definition.
package webhook

import (
	"context"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	demov1alpha1 "github.com/kube-lifeline/lifeline/examples/head-operator/api/v1alpha1"
	"github.com/kube-lifeline/lifeline/operator"
)

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0 webhook paths=. output:webhook:dir=../../config/webhook

// The controller takes a Head as it comes, so nobody has to wait for an
// operator that is down: failurePolicy=ignore.
// +kubebuilder:webhookconfiguration:mutating=true,name=head-operator
// +kubebuilder:webhook:path=/mutate-demo-lifeline-dev-v1alpha1-head,mutating=true,failurePolicy=ignore,sideEffects=None,timeoutSeconds=5,groups=demo.lifeline.dev,resources=heads,verbs=create;update,versions=v1alpha1,name=head.demo.lifeline.dev,admissionReviewVersions=v1,serviceName=head-operator-webhook,serviceNamespace=head-operator-system

// HeadPath is where the webhook server serves HeadDefaulter.
const HeadPath = "/mutate-demo-lifeline-dev-v1alpha1-head"

// HeadDefaulter gives a Head what its author left out.
type HeadDefaulter struct{}

// SetupWithManager serves the webhook from the manager's webhook server.
func (d HeadDefaulter) SetupWithManager(mgr ctrl.Manager) {
	// The kit's line: a new Head gets a context, if its author gave it none.
	mgr.GetWebhookServer().Register(
		HeadPath,
		operator.Webhook(mgr, admission.WithDefaulter(mgr.GetScheme(), d), operator.GivingContexts()),
	)
}

// Default implements admission.Defaulter.
func (HeadDefaulter) Default(_ context.Context, head *demov1alpha1.Head) error {
	if head.Spec.Replicas == nil {
		head.Spec.Replicas = ptr.To(demov1alpha1.DefaultReplicas)
	}
	return nil
}
