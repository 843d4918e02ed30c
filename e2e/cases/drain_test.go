// SPDX-License-Identifier: Apache-2.0

package cases

import "github.com/kube-lifeline/lifeline/e2e/internal/cases"

// twoBudgets is a drain of a Node with a Pod that two budgets select.
var twoBudgets = cases.Case{
	Name: "two budgets", Report: "kubernetes/kubernetes#75957", Alone: true,
	Manifest: deployment("api", 1, "      nodeSelector: {kubernetes.io/hostname: node-0}\n") + `
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: team}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: api}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: platform}
spec: {maxUnavailable: 1, selector: {matchExpressions: [{key: app, operator: Exists}]}}
`,
	Act: func(p *cases.Play) {
		p.Kubectl("rollout", "status", "deployment/api")
		p.AtEnd("uncordon", "node-0")
		refused(p, "", "drain", "node-0", "--ignore-daemonsets", "--force", "--timeout=8s", "--pod-selector=app=api")
	},
	Want: []cases.Answer{{Object: "node/node-0", Text: `
The eviction of Pod api-… was refused SOME ago: PodDisruptionBudgets platform and team both select the Pod, and an eviction supports only one; Node node-0 stays cordoned.
Request: of admin at TIME, trace ID.
Next: kubectl -n NS describe pod/api-…
Node node-0 converged SOME ago, in SOME; slowest: SOME.
`}},
}
