// SPDX-License-Identifier: Apache-2.0

package cases

import "github.com/kube-lifeline/lifeline/e2e/internal/cases"

// namedPort is a Service with the name of a port that no Pod has.
var namedPort = cases.Case{
	Name: "named port", Report: "kubernetes/kubernetes#109627",
	Manifest: `
apiVersion: v1
kind: Service
metadata: {name: shop}
spec:
  selector: {app: shop}
  ports: [{name: web, port: 80, targetPort: http}]
---
` + deployment("shop", 2, ""),
	Want: []cases.Answer{{Object: "service/shop", Code: 3, Text: `
Service shop has been stuck for SOME: it reaches no Pod at port web: none of the ready Pods has a port with the name http.
Cause: admin created Deployment shop at TIME, trace ID.
Since TIME.
Next: kubectl -n NS get endpointslice -l kubernetes.io/service-name=shop -o yaml
`}},
}
