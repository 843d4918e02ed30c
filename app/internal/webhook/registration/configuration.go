// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/webhook"
)

const (
	// ObjectsName is the webhook that adds contexts to objects. The audit log has it as a prefix of
	// the decision.
	ObjectsName = "objects.webhook.lifeline.dev"
	// ObservedName is the webhook that only observes.
	ObservedName = "observed.webhook.lifeline.dev"

	// label marks our configurations.
	label, labelValue = "app.kubernetes.io/name", "lifeline"

	// CAKey is the annotation with the writer of the configuration's authorities. Other writers
	// leave them unchanged.
	CAKey = "webhook.lifeline.dev/ca"
	// CAManaged is the value for the server that manages its certificate.
	CAManaged = "managed"
	// CAGiven is the value for the user who installed the configuration.
	CAGiven = "given"
	// CertManagerKey makes cert-manager write them.
	CertManagerKey = "cert-manager.io/inject-ca-from"

	// namespaceLabel is the label with a namespace's name, on every namespace.
	namespaceLabel = "kubernetes.io/metadata.name"

	// timeout is the longest delay of a write, in seconds.
	timeout = 1
)

// excludedNamespaces are those of the control plane: a cluster that cannot start its components
// cannot start our server.
var excludedNamespaces = []string{"kube-node-lease", "kube-public", "kube-system"}

// Configuration returns the configuration for valid options.
func Configuration(o Options) *admissionregistrationv1.MutatingWebhookConfiguration {
	c := &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingWebhookConfiguration",
		},
		ObjectMeta: metav1.ObjectMeta{
			Name: o.Name, Labels: map[string]string{label: labelValue, "app.kubernetes.io/component": "webhook"},
			Annotations: map[string]string{},
		},
		Webhooks: []admissionregistrationv1.MutatingWebhook{o.webhook(ObjectsName, objectRules())},
	}
	switch {
	case o.Certificate.Name != "":
		c.Annotations[CertManagerKey] = o.Certificate.String()
	case len(o.CA) > 0:
		c.Annotations[CAKey] = CAGiven
	default:
		c.Annotations[CAKey] = CAManaged
	}
	if o.Observe {
		c.Webhooks = append(c.Webhooks, o.webhook(ObservedName, observedRules()))
	}
	return c
}

func (o *Options) webhook(
	name string, rules []admissionregistrationv1.RuleWithOperations,
) admissionregistrationv1.MutatingWebhook {
	namespaces := slices.Concat(excludedNamespaces, []string{o.Namespace}, o.ExcludeNamespaces)
	slices.Sort(namespaces)
	return admissionregistrationv1.MutatingWebhook{
		Name:                    name,
		ClientConfig:            o.client(),
		Rules:                   rules,
		AdmissionReviewVersions: []string{"v1"},
		TimeoutSeconds:          ptr(int32(timeout)),
		// A missing context never blocks a write.
		FailurePolicy: ptr(admissionregistrationv1.Ignore),
		MatchPolicy:   ptr(admissionregistrationv1.Equivalent),
		// The server only caches its decisions for a moment and stores nothing, so dry runs are
		// allowed.
		SideEffects: ptr(admissionregistrationv1.SideEffectClassNone),
		// A later webhook may change the object. Our claim about the sent object stays valid then.
		// A second call would change nothing, and cost time.
		ReinvocationPolicy: ptr(admissionregistrationv1.NeverReinvocationPolicy),
		NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: namespaceLabel, Operator: metav1.LabelSelectorOpNotIn, Values: slices.Compact(namespaces),
		}}},
		ObjectSelector:  &metav1.LabelSelector{},
		MatchConditions: conditions(o.Exclude),
	}
}

func (o *Options) client() admissionregistrationv1.WebhookClientConfig {
	c := admissionregistrationv1.WebhookClientConfig{CABundle: o.CA}
	if o.URL != "" {
		c.URL = &o.URL
		return c
	}
	c.Service = &admissionregistrationv1.ServiceReference{
		Namespace: o.Service.Namespace, Name: o.Service.Name, Path: ptr(webhook.Path), Port: ptr(o.Service.Port),
	}
	return c
}

// objectRules are the requests whose objects can receive a context.
func objectRules() []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{
		rule([]string{"*"}, []string{"*"}, admissionregistrationv1.Create, admissionregistrationv1.Update),
		// The API server copies annotations of a Binding to the Pod.
		rule([]string{""}, []string{"pods/binding"}, admissionregistrationv1.Create),
	}
}

// observedRules are requests for which a patch would have no effect.
func observedRules() []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{
		rule([]string{"*"}, []string{"*"}, admissionregistrationv1.Delete),
		rule([]string{"*"}, []string{"*/scale"}, admissionregistrationv1.Update),
		rule([]string{""}, []string{"pods/eviction"}, admissionregistrationv1.Create),
		rule([]string{""}, []string{"pods/ephemeralcontainers", "pods/resize"}, admissionregistrationv1.Update),
	}
}

func rule(
	groups, resources []string, operations ...admissionregistrationv1.OperationType,
) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: operations,
		Rule: admissionregistrationv1.Rule{
			APIGroups: groups, APIVersions: []string{"*"}, Resources: resources,
			Scope: ptr(admissionregistrationv1.AllScopes),
		},
	}
}

func ptr[T any](v T) *T { return &v }
