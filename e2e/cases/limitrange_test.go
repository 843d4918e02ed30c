// SPDX-License-Identifier: Apache-2.0

package cases

import "github.com/kube-lifeline/lifeline/e2e/internal/cases"

// defaultLimit is a request above the default limit of a LimitRange.
var defaultLimit = cases.Case{
	Name: "default limit below the request", Report: "kubernetes/kubernetes#112835",
	Manifest: `
apiVersion: v1
kind: LimitRange
metadata: {name: defaults}
spec: {limits: [{type: Container, default: {cpu: "0.2"}, defaultRequest: {cpu: "0.1"}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: batch}
spec:
  selector: {matchLabels: {app: batch}}
  template:
    metadata: {labels: {app: batch}}
    spec:
      containers: [{name: app, image: "registry.example/batch:1", resources: {requests: {cpu: 1}}}]
`,
	Want: []cases.Answer{{Object: "deployment/batch", Code: 3, Text: `
Deployment batch has been stuck for SOME: ReplicaSet batch-… cannot create its Pods: the default cpu limit SOME of LimitRange defaults is below the request 1.
Cause: admin created Deployment batch at TIME, trace ID.
Since TIME.
Next: kubectl -n NS describe limitrange
`}},
}
