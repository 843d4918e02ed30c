// SPDX-License-Identifier: Apache-2.0

package reason_test

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// TestDenied: the sentence about a refused request names the request, and the reason once.
func TestDenied(t *testing.T) {
	of := func(k object.Kind, name string) object.Ref { return object.Ref{Kind: k, Namespace: "shop", Name: name} }
	web, pod := of(kind.Deployment.Kind, "web"), of(kind.Pod.Kind, "web-1")
	settings := of(kind.ConfigMap.Kind, "settings")
	for name, tc := range map[string]struct {
		write    observation.Write
		category reason.Category
		want     string
	}{
		"conflict": {
			observation.Write{Ref: web, Verb: "apply", Code: 409, Reason: "Conflict",
				Message: `Apply failed: conflict with "kubectl" using apps/v1: .spec.replicas`},
			reason.Conflict,
			`the change of Deployment web was refused: Apply failed: conflict with "kubectl" using apps/v1: ` +
				`.spec.replicas`,
		},
		"immutable": {
			observation.Write{Ref: settings, Verb: "patch", Code: 422, Reason: "Invalid",
				Message: "ConfigMap \"settings\" is invalid: data: Forbidden: field is immutable when `immutable` " +
					"is set"},
			reason.Invalid,
			"the change of ConfigMap settings was refused: data: Forbidden: field is immutable when `immutable` is set",
		},
		"old version": {
			observation.Write{Ref: web, Verb: "update", Code: 409, Reason: "Conflict",
				Message: `Operation cannot be fulfilled on deployments.apps "web": the object has been modified; ` +
					`please ` +
					`apply your changes to the latest version and try again`},
			reason.Conflict,
			"the change of Deployment web was refused: the object has been modified; please apply your changes to " +
				"the " +
				"latest version and try again",
		},
		"quota": {
			observation.Write{Ref: pod, Verb: "create", Code: 403, Reason: "Forbidden",
				Message: `pods "web-1" is forbidden: exceeded quota: few, requested: pods=1, used: pods=0, limited: ` +
					`pods=0`},
			reason.QuotaExceeded,
			"the creation of Pod web-1 was refused: exceeded quota: few, requested: pods=1, used: pods=0, limited: " +
				"pods=0",
		},
		"budget": {
			observation.Write{Ref: pod, Verb: "create", Subresource: "eviction", Code: 429, Reason: "TooManyRequests",
				Message: "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget " +
					"web " +
					"needs 2 healthy pods and has 2 currently"},
			reason.DisruptionBudget,
			"the eviction of Pod web-1 was refused: PodDisruptionBudget web needs 2 healthy Pods, and 2 are",
		},
		"two budgets": {
			observation.Write{Ref: pod, Verb: "create", Subresource: "eviction", Code: 500,
				Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not " +
					"support."},
			reason.DisruptionBudget,
			"the eviction of Pod web-1 was refused: more than one PodDisruptionBudget selects the Pod, and an " +
				"eviction " +
				"supports only one",
		},
		"deletion": {
			observation.Write{Ref: web, Verb: "delete", Code: 403, Reason: "Forbidden", Message: message.Withheld},
			reason.Refused, "the deletion of Deployment web was refused: Forbidden: (text withheld)",
		},
		"no text": {
			observation.Write{Ref: web, Verb: "patch", Code: 503},
			reason.Refused, "the change of Deployment web was refused: without a reason",
		},
		"no name": {
			observation.Write{Ref: of(kind.Deployment.Kind, ""), Verb: "create", Code: 400, Reason: "BadRequest"},
			reason.Refused, "the creation of Deployment was refused: BadRequest",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := reason.Denied(&tc.write)
			if got.Text != tc.want || got.Category != tc.category {
				t.Errorf("got %s: %q\nwant %s: %q", got.Category, got.Text, tc.category, tc.want)
			}
			if !reason.IsRefused(got.Text) {
				t.Errorf("%q is not recognized", got.Text)
			}
		})
	}
	for _, other := range []string{
		"", "Deployment web failed", "Deployment web: the change of ConfigMap a was refused: x",
		"the change of Deployment web is on its way",
	} {
		if reason.IsRefused(other) {
			t.Errorf("%q is taken for a refusal", other)
		}
	}
}
