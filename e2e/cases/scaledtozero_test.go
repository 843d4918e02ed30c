// SPDX-License-Identifier: Apache-2.0

package cases

import "github.com/kube-lifeline/lifeline/e2e/internal/cases"

// scaledToZero is a Service whose only workload another user has scaled to 0.
var scaledToZero = cases.Case{
	Name: "scaled to 0",
	Manifest: `
apiVersion: v1
kind: Service
metadata: {name: mail}
spec: {selector: {app: mail}, ports: [{port: 25}]}
---
` + deployment("mail", 2, ""),
	Act: func(p *cases.Play) {
		p.Kubectl("rollout", "status", "deployment/mail")
		p.As("jane", "scale", "deployment/mail", "--replicas=0")
	},
	Want: []cases.Answer{{Object: "service/mail", Code: 3, Text: `
Service mail has been stuck for SOME: it has no endpoint: Deployment mail is scaled to 0.
Cause: jane changed Deployment mail (replicas 2 → 0) at TIME, trace ID.
Since TIME.
Next: kubectl -n NS describe deployment/mail
`}},
}

// autoscalerOff is an autoscaler whose target another user has scaled to 0.
var autoscalerOff = cases.Case{
	Name: "autoscaler off",
	Manifest: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: mail}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: mail}
  minReplicas: 1
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
---
` + deployment("mail", 2, ""),
	Act: func(p *cases.Play) {
		p.Kubectl("rollout", "status", "deployment/mail")
		p.As("jane", "scale", "deployment/mail", "--replicas=0")
	},
	Want: []cases.Answer{{Object: "hpa/mail", Text: `
HorizontalPodAutoscaler mail converged SOME ago, in SOME; slowest: SOME.
It is off: Deployment mail is scaled to 0.
Cause: jane changed Deployment mail (replicas 2 → 0) at TIME, trace ID.
Since TIME.
`}},
}
