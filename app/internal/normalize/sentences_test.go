// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"fmt"
	"strconv"
	"testing"
)

// TestSentences: the sentences that explain a failure are shown in the default.
func TestSentences(t *testing.T) {
	const same = "="
	for name, c := range map[string]struct{ apiVersion, kind, message, want string }{
		"the sentence of a policy": {
			"apps/v1", "ReplicaSet", `pods "web-7dc4-" is forbidden: ValidatingAdmissionPolicy 'team' with ` +
				`binding 'team' denied request: the label team is missing`,
			`pods "web-7dc4-" is forbidden: ValidatingAdmissionPolicy 'team' with binding 'team' denied request: ` +
				`“the label team is missing”`,
		},
		"the sentence of a webhook": {
			"apps/v1", "ReplicaSet", `admission webhook "validate.example.com" denied the request: images must ` +
				`come from registry.example`,
			`admission webhook "validate.example.com" denied the request: “images must come from registry.example”`,
		},
		"a limit": {
			"apps/v1", "ReplicaSet", `Pod "web-1" is invalid: spec.containers[0].resources.requests: Invalid ` +
				`value: "500m": must be less than or equal to cpu limit of 200m`, same,
		},
		"a limit, quoted by Flux": {
			"kustomize.toolkit.fluxcd.io/v1", "Kustomization", `Deployment/shop/web dry-run failed (Invalid): ` +
				`Deployment.apps "web" is invalid: spec.template.spec.containers[0].resources.requests: Invalid ` +
				`value: "500m": must be less than or equal to cpu limit of 200m`,
			`“Deployment/shop/web dry-run failed (Invalid):” Deployment.apps "web" is invalid: ` +
				`spec.template.spec.containers[0].resources.requests: Invalid value: "500m": must be less than ` +
				`or equal to cpu limit of 200m`,
		},
		"an immutable field, quoted by Argo CD": {
			"argoproj.io/v1alpha1", "Application", `one or more objects failed to apply, reason: Deployment.apps ` +
				`"web" is invalid: spec.selector: Invalid value: {"matchLabels":{"app":"web"}}: field is ` +
				`immutable`,
			`one or more objects failed to apply, reason: Deployment.apps "web" is invalid: spec.selector: ` +
				`Invalid value: field is immutable`,
		},
		"an API group": {
			"v1", "Namespace", `Discovery failed for some groups, 1 failing: unable to retrieve the complete ` +
				`list of server APIs: metrics.example.com/v1beta1: stale GroupVersion discovery: ` +
				`metrics.example.com/v1beta1`, same,
		},
		"an unknown kind": {
			"argoproj.io/v1alpha1", "Application", `The Kubernetes API could not find ` +
				`monitoring.example.com/Rule for requested resource shop/web. Make sure the "Rule" CRD is ` +
				`installed on the destination cluster`,
			`“The Kubernetes API could not find monitoring.example.com/Rule for requested resource shop/web. ` +
				`Make sure the "Rule" CRD is installed on the destination cluster”`,
		},
		"ACME": {
			"cert-manager.io/v1", "Certificate", `Failed to create Order: 429 ` +
				`urn:ietf:params:acme:error:rateLimited: too many certificates (5) already issued for this exact ` +
				`set of domains in the last 168 hours: example.com, retry after 2026-05-04T03:02:01Z`,
			`Failed to create Order: “429 urn:ietf:params:acme:error:rateLimited: too many certificates (5) ` +
				`already issued for this exact set of domains in the last 168 hours: example.com, retry after ` +
				`2026-05-04T03:02:01Z”`,
		},
		"a custom resource": {
			"db.example.com/v1", "Postgres", `replica 2 lags 40s behind: pg_wal is full on volume data-2`,
			`“replica 2 lags 40s behind: pg_wal is full on volume data-2”`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want == same {
				c.want = c.message
			}
			s := New([KeySize]byte{1}, Settings{}).Object(parse(t, fmt.Sprintf(
				`{"apiVersion":%q,"kind":%q,"metadata":{"name":"n","uid":"u","resourceVersion":"7"},
				"spec":{"values":{"password":"hunter2xyz"},
				"template":{"spec":{"containers":[{"args":["hunter2xyz"]}]}}},
				"status":{"conditions":[{"type":"Ready","status":"False","reason":"Bad","message":%s}]}}`,
				c.apiVersion, c.kind, strconv.Quote(c.message),
			)))
			if got := s.Conditions[0].Message; got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
