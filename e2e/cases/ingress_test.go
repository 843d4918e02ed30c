// SPDX-License-Identifier: Apache-2.0

package cases

import "github.com/kube-lifeline/lifeline/e2e/internal/cases"

// ingressPort is an Ingress whose controller publishes no address. It names the port of the Pods in place of the
// port of the Service. A Service with external IPs has no load balancer.
var ingressPort = cases.Case{
	Name: "port of an Ingress", Report: "argoproj/argo-cd#14607",
	Manifest: `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: NS}
spec: {controller: example.com/nodeport-ingress}
---
apiVersion: v1
kind: Service
metadata: {name: site}
spec:
  selector: {app: site}
  ports: [{name: http, port: 80, targetPort: 8080}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: site}
spec:
  ingressClassName: NS
  rules:
  - host: site.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: site, port: {number: 8080}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: fine}
spec:
  ingressClassName: NS
  defaultBackend: {service: {name: site, port: {number: 80}}}
---
apiVersion: v1
kind: Service
metadata: {name: gate}
spec:
  type: LoadBalancer
  externalIPs: [192.0.2.8]
  selector: {app: site}
  ports: [{name: http, port: 80, targetPort: 8080}]
---
` + deployment("site", 1, ""),
	Act: func(p *cases.Play) { p.AtEnd("delete", "ingressclass/NS") },
	Want: []cases.Answer{
		{Object: "ingress/site", Code: 3, Text: `
Ingress site has been stuck for SOME: it names port 8080 of Service site, which has only port 80 (http).
Cause: admin created Ingress site at TIME, trace ID.
Since TIME.
Next: kubectl -n NS describe service/site
`},
		{Object: "ingress/fine", Text: `
Ingress fine converged SOME ago, in SOME; slowest: SOME.
It has no address: no Ingress of its class has one.
`},
		{Object: "service/gate", Text: `
Service gate converged SOME ago, in SOME; slowest: SOME.
It has no load balancer, and is reachable at its external IPs.
`},
	},
}
