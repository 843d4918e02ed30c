// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"github.com/kube-lifeline/lifeline/e2e/internal/cases"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// rewrittenImage is a policy that names another registry in the image of each Pod.
var rewrittenImage = cases.Case{
	Name: "rewritten image", Report: "kyverno/policies#882",
	Manifest: `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NS}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
  reinvocationPolicy: Never
  failurePolicy: Fail
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        [JSONPatch{op: "replace", path: "/spec/containers/0/image",
        value: "mirror.example/" + object.spec.containers[0].image},
        JSONPatch{op: "add", path: "/metadata/annotations", value: {"lab.lifeline.dev/pull-error": "not found"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NS}
spec: {policyName: NS}
`,
	Act: func(p *cases.Play) {
		p.AtEnd("delete", "mutatingadmissionpolicy/NS", "mutatingadmissionpolicybinding/NS")
		// The policy needs a moment.
		harness.Eventually(p.T, "the policy being in effect", func() bool {
			image := p.Kubectl("run", "probe", "--image=probe:1", "--dry-run=server", "-o",
				"jsonpath={.spec.containers[0].image}")
			return image == "mirror.example/probe:1"
		})
		p.Apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: blog}
spec:
  selector: {matchLabels: {app: blog}}
  template:
    metadata: {labels: {app: blog}}
    spec: {containers: [{name: app, image: "blog:1", imagePullPolicy: IfNotPresent}]}
`)
	},
	Want: []cases.Answer{{Object: "deployment/blog", Code: 3, Text: `
Deployment blog has been stuck for SOME: Pod blog-… cannot pull image mirror.example/blog:1 of container app: not found; admission changed its image from blog:1 (MutatingAdmissionPolicy NS).
Cause: admin created Deployment blog at TIME, trace ID.
Since TIME.
Next: kubectl -n NS describe pod/blog-…
`}},
}
