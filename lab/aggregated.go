// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// frontProxy is the API server's user at an aggregated API.
const frontProxy = "front-proxy-client"

// aggregatedArgs are the arguments of the server of an aggregated API on a port.
func (c *Cluster) aggregatedArgs(component Component, port int) []string {
	kubeconfig := c.etc(string(component) + ".kubeconfig")
	return []string{
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + c.pki("apiserver.crt"),
		"--tls-private-key-file=" + c.pki("apiserver.key"),
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
	}
}

// aggregatedAPI is an API that another server serves.
type aggregatedAPI struct {
	// namespace and service name the Service of its server.
	namespace, service string
	group, version     string
	// groupPriority and versionPriority are those of the APIService.
	groupPriority, versionPriority int
}

// register registers the server of an aggregated API on a port, and waits until the API is available. Endpoints
// cannot name loopback, but the name of an ExternalName Service can.
func (a aggregatedAPI) register(ctx context.Context, c *Cluster, port int) error {
	manifest := fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: %[2]s}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: %[4]s.%[3]s}
spec:
  group: %[3]s
  version: %[4]s
  service: {name: %[1]s, namespace: %[2]s, port: %[5]d}
  insecureSkipTLSVerify: true
  groupPriorityMinimum: %[6]d
  versionPriority: %[7]d
`, a.service, a.namespace, a.group, a.version, port, a.groupPriority, a.versionPriority)
	apply := []string{"apply", "--server-side", "--filename=-"}
	if _, err := c.RunKubectl(ctx, strings.NewReader(manifest), apply...); err != nil {
		return err
	}
	wait := []string{"wait", "apiservice/" + a.version + "." + a.group, "--for=condition=Available", "--timeout=1m"}
	_, err := c.RunKubectl(ctx, nil, wait...)
	return err
}
