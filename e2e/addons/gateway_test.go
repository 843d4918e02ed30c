// SPDX-License-Identifier: Apache-2.0

package addons

import (
	"fmt"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/addon"
	"github.com/kube-lifeline/lifeline/lab"
)

// control writes a status as the controller of the Gateways does.
func (s *stage) control(object, status string) {
	s.t.Helper()
	patch := `{"status":` + status + `}`
	s.as(addon.GatewayController, "patch", object, "--subresource=status", "--type=merge", "-p", patch)
}

// programmed is the status of a Gateway with so many routes.
func programmed(generation, routes int) string {
	accepted := addon.Condition("Accepted", generation, "True", "Accepted")
	ready := addon.Condition("Programmed", generation, "True", "Programmed")
	return fmt.Sprintf(`{"conditions":[%[1]s,%[2]s],"addresses":[{"type":"IPAddress","value":"192.0.2.1"}],`+
		`"listeners":[{"name":"http","attachedRoutes":%[3]d,"supportedKinds":[{"kind":"HTTPRoute"}],`+
		`"conditions":[%[1]s,%[2]s]}]}`, accepted, ready, routes)
}

// TestGateway records a Gateway and a route: refused at first, then accepted and deleted. Their controller is a
// part of the test.
func TestGateway(t *testing.T) {
	opts := lab.Options{Nodes: lab.NodesNone, Users: []lab.User{{Name: addon.GatewayController}}}
	traces := record(t, "gateway.kwok", opts, func(s *stage) {
		s.apply(userA, addon.GatewayAPI())
		for _, kind := range []string{"gateways", "httproutes"} {
			s.await("condition=Established", "crd/"+kind+".gateway.networking.k8s.io")
		}
		time.Sleep(quiet) // the recorder finds new kinds once a second

		s.apply(userA, addon.Gateway)
		s.control("gateway/edge", `{"conditions":[`+addon.Condition("Accepted", 1, "True", "Accepted")+`,`+
			addon.Condition("Programmed", 1, "False", "Pending")+`]}`)
		time.Sleep(2 * time.Second) // the address
		s.control("gateway/edge", programmed(1, 0))
		s.settle()

		s.apply(userB, addon.Route("other.example"))
		s.control("httproute/web", addon.Answer(1, "False", "NoMatchingListenerHostname"))
		s.settle()
		s.apply(userC, addon.Route("web.example"))
		s.control("httproute/web", addon.Answer(2, "True", "Accepted"))
		s.control("gateway/edge", programmed(1, 1))
		s.settle()

		s.as(userB, "patch", "gateway/edge", "--type=merge", "-p", `{"spec":{"addresses":[{"value":"192.0.2.1"}]}}`)
		s.control("gateway/edge", programmed(2, 1))
		s.settle()
		s.as(userA, "delete", "httproute/web")
		s.control("gateway/edge", programmed(2, 0))
		s.settle()
		s.as(userC, "delete", "gateway/edge")
		s.settle()
	})
	expect(t, traces, map[string]int{
		"Gateway edge <":  3, // a creation, a change and a deletion
		"HTTPRoute web <": 3,
	})
}
