// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Selector is the label selector of our configurations.
const Selector = label + "=" + labelValue

// Differs returns the differences from the installed form that could disturb a cluster, after later
// changes by others.
func Differs(c *admissionregistrationv1.MutatingWebhookConfiguration) []string {
	var out []string
	objects := false
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		objects = objects || w.Name == ObjectsName
		if w.Name != ObjectsName && w.Name != ObservedName {
			out = append(out, fmt.Sprintf("webhook %.80s is not ours", w.Name))
			continue
		}
		for _, d := range differs(w) {
			out = append(out, w.Name+": "+d)
		}
	}
	if !objects {
		out = append(out, "webhook "+ObjectsName+" is missing")
	}
	return out
}

func differs(w *admissionregistrationv1.MutatingWebhook) []string {
	var out []string
	if w.FailurePolicy == nil || *w.FailurePolicy != admissionregistrationv1.Ignore {
		out = append(out, "failurePolicy is not Ignore: without the server, every write fails")
	}
	if w.TimeoutSeconds == nil || *w.TimeoutSeconds > timeout {
		out = append(out, fmt.Sprintf("timeoutSeconds is not %d: a slow server holds up every write for so long",
			timeout))
	}
	if w.SideEffects == nil || *w.SideEffects != admissionregistrationv1.SideEffectClassNone {
		out = append(out, "sideEffects is not None: dry runs are refused")
	}
	if w.ReinvocationPolicy != nil && *w.ReinvocationPolicy != admissionregistrationv1.NeverReinvocationPolicy {
		out = append(out, "reinvocationPolicy is not Never: a write causes two requests")
	}
	var spared []string
	if w.NamespaceSelector != nil {
		for _, e := range w.NamespaceSelector.MatchExpressions {
			if e.Key == namespaceLabel && e.Operator == metav1.LabelSelectorOpNotIn {
				spared = append(spared, e.Values...)
			}
		}
	}
	for _, n := range excludedNamespaces {
		if !slices.Contains(spared, n) {
			out = append(out, "namespace "+n+" is not excluded")
		}
	}
	for _, want := range conditions(nil) {
		if !slices.ContainsFunc(w.MatchConditions, func(c admissionregistrationv1.MatchCondition) bool {
			return c.Name == want.Name
		}) {
			out = append(out, "the condition "+want.Name+" is missing")
		}
	}
	return out
}
