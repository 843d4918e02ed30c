// SPDX-License-Identifier: Apache-2.0

package addon

import (
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// GatewayController is the user and the field manager of the controller of the Gateways. It is a part of the
// test.
const GatewayController = "gateway-controller"

// groupGateway is the API group of the Gateway API.
const groupGateway = "gateway.networking.k8s.io"

// GatewayAPI are two kinds of the Gateway API without their schemas.
func GatewayAPI() string {
	return harness.CustomKind("Gateway", groupGateway) + "---\n" + harness.CustomKind("HTTPRoute", groupGateway)
}

// Gateway is the manifest of the Gateway edge, which has one hostname.
const Gateway = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec: {gatewayClassName: lab, listeners: [{name: http, port: 80, protocol: HTTP, hostname: web.example}]}
`

// Route is the manifest of the HTTPRoute web from the Gateway edge to the Service web.
func Route(host string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web}
spec:
  parentRefs: [{name: edge}]
  hostnames: [%s]
  rules: [{backendRefs: [{name: web, port: 80}]}]
`, host)
}

// Condition is a condition as the controllers of the Gateway API write it.
func Condition(typ string, generation int, status, reason string) string {
	return fmt.Sprintf(`{"type":%q,"status":%q,"observedGeneration":%d,"reason":%q,"message":"",`+
		`"lastTransitionTime":%q}`, typ, status, generation, reason, time.Now().UTC().Format(time.RFC3339))
}

// Answer is the status of a route with the Gateway edge as its parent.
func Answer(generation int, accepted, reason string) string {
	return fmt.Sprintf(
		`{"parents":[{"parentRef":{"name":"edge"},"controllerName":"lab.lifeline.dev/gateways","conditions":[%s,%s]}]}`,
		Condition("Accepted", generation, accepted, reason),
		Condition("ResolvedRefs", generation, "True", "ResolvedRefs"))
}
