// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// quote makes the cluster quote: a webhook and a policy that repeat what they refuse,
// and a custom resource whose rules do.
func quote(t *testing.T, canary, namespace string) {
	t.Helper()
	server := httptest.NewTLSServer(refuser(canary))
	t.Cleanup(server.Close)
	authority := base64.StdEncoding.EncodeToString(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	)
	bench.MustKubectl(t, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[1]s}
webhooks:
- name: quoting.canary.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "%[2]s/check/%[3]s", caBundle: %[4]s}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
  rules:
  - {apiGroups: [""], apiVersions: [v1], resources: [serviceaccounts, pods], operations: [CREATE]}
- name: down.canary.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {url: "https://127.0.0.1:1/check/%[3]s"}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [limitranges], operations: [CREATE]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [serviceaccounts], operations: [CREATE]}]
  validations:
  - expression: object.metadata.name != "policy"
    messageExpression: '"it has the token " + object.metadata.annotations["example.com/token"]'
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: birds.canary.example.com}
spec:
  group: canary.example.com
  names: {kind: Bird, plural: birds, singular: bird}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              song:
                type: string
                maxLength: 100
                x-kubernetes-validations:
                - {rule: '!self.startsWith("silent")', messageExpression: '"it sings " + self'}
              values: {type: object, x-kubernetes-preserve-unknown-fields: true}
              list: {type: array, maxItems: 10, items: {type: string}, x-kubernetes-list-type: set}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`, namespace, server.URL, canary, authority), "apply", "-f", "-")
	harness.Eventually(t, "the policy being in force", func() bool {
		_, err := bench.RunKubectl(
			t.Context(),
			strings.NewReader(
				`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"policy",`+
					`"annotations":{"example.com/token":"x"}}}`,
			),
			"create",
			"--dry-run=server",
			"-f",
			"-",
		)
		return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
	})
	bench.MustKubectl(t, "", "wait", "--for=condition=Established", "crd/birds.canary.example.com", "--timeout=1m")
}

// refuser is a webhook that refuses some names, and quotes in each part of its answer.
func refuser(canary string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		says := "PASSWORD=" + canary + " is not allowed"
		result := &metav1.Status{Message: says, Code: http.StatusForbidden}
		name := review.Request.Name
		switch {
		case name == "webhook-reason":
			result.Reason = metav1.StatusReason(says)
		case name == "webhook-causes":
			result.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{
				{
					Type:    metav1.CauseTypeFieldValueInvalid,
					Field:   "env " + canary,
					Message: says,
				},
				{Type: metav1.CauseType(canary), Message: says},
				{Type: metav1.CauseTypeFieldManagerConflict, Field: `.args[="` + canary + `"]`, Message: says},
			}}
		case name != "webhook" && !strings.Contains(string(review.Request.Object.Raw), `"app":"refused"`):
			result = nil
		}
		answer := admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: result == nil, Result: result,
		}}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}
}
