// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// ObjectsName is the webhook whose objects are given a context; the audit log has
	// it before what was decided.
	ObjectsName = "objects.webhook.lifeline.dev"
	// ObservedName is the one that only sees.
	ObservedName = "observed.webhook.lifeline.dev"

	// label tells configurations of ours.
	label, labelValue = "app.kubernetes.io/name", "lifeline"

	// CAKey is the annotation that says who writes the configuration's authorities;
	// nobody else touches them.
	CAKey = "webhook.lifeline.dev/ca"
	// CAManaged is for the server that manages its certificate.
	CAManaged = "managed"
	// CAGiven is for who has installed the configuration.
	CAGiven = "given"
	// CertManagerKey has cert-manager write them.
	CertManagerKey = "cert-manager.io/inject-ca-from"

	// namespaceLabel is on every namespace, with its name.
	namespaceLabel = "kubernetes.io/metadata.name"

	// timeout is how many seconds a write is held up at most.
	timeout = 1
)

// excludedNamespaces are those of the control plane: a cluster that cannot start its
// own parts cannot start ours.
var excludedNamespaces = []string{"kube-node-lease", "kube-public", "kube-system"}

// Configuration makes what options say; they must be valid.
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
		// No write is ever refused for want of a context.
		FailurePolicy: ptr(admissionregistrationv1.Ignore),
		MatchPolicy:   ptr(admissionregistrationv1.Equivalent),
		// It remembers for a moment what it admitted; nothing is stored, so that dry
		// runs may ask.
		SideEffects: ptr(admissionregistrationv1.SideEffectClassNone),
		// A later webhook may change the object. What ours said of the writer's wish
		// keeps holding then (the claim is of what was sent), so a second call would
		// change nothing, and cost one more.
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
		Namespace: o.Service.Namespace, Name: o.Service.Name, Path: ptr(Path), Port: ptr(o.Service.Port),
	}
	return c
}

// objectRules are the requests whose objects can be given a context.
func objectRules() []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{
		rule([]string{"*"}, []string{"*"}, admissionregistrationv1.Create, admissionregistrationv1.Update),
		// What is put on a Binding, the API server puts on the Pod.
		rule([]string{""}, []string{"pods/binding"}, admissionregistrationv1.Create),
	}
}

// observedRules are requests of which a patch would go nowhere.
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
