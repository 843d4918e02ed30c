// SPDX-License-Identifier: Apache-2.0

// Package webhook sets the defaults of Heads at admission. The custom resource definition contains
// the validation rules.
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

// The controller accepts a Head without defaults. With failurePolicy=ignore, users can therefore
// write Heads while the operator is down.
// +kubebuilder:webhookconfiguration:mutating=true,name=head-operator
// +kubebuilder:webhook:path=/mutate-demo-lifeline-dev-v1alpha1-head,mutating=true,failurePolicy=ignore,sideEffects=None,timeoutSeconds=5,groups=demo.lifeline.dev,resources=heads,verbs=create;update,versions=v1alpha1,name=head.demo.lifeline.dev,admissionReviewVersions=v1,serviceName=head-operator-webhook,serviceNamespace=head-operator-system

// HeadPath is the path of HeadDefaulter on the webhook server.
const HeadPath = "/mutate-demo-lifeline-dev-v1alpha1-head"

// HeadDefaulter sets the defaults of a Head.
type HeadDefaulter struct{}

// SetupWithManager registers the webhook with the manager's webhook server.
func (d HeadDefaulter) SetupWithManager(mgr ctrl.Manager) {
	// The kit's line: a new Head gets a context, unless its author supplied one.
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
