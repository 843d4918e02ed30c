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

// metricsServer reads the kubelet and serves metrics.k8s.io to the API server.
var metricsServer = addOnComponent{
	ports:    1,
	scheme:   "https",
	ready:    "/livez", // /readyz waits for two readings of the kubelet
	register: registerMetrics,
	args: func(c *Cluster, ports []int) ([]string, error) {
		kubeconfig := c.etc(string(MetricsServer) + ".kubeconfig")
		return []string{
			"--bind-address=127.0.0.1",
			"--secure-port=" + strconv.Itoa(ports[0]),
			"--tls-cert-file=" + c.pki("apiserver.crt"),
			"--tls-private-key-file=" + c.pki("apiserver.key"),
			"--kubeconfig=" + kubeconfig,
			"--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig,
			"--kubelet-certificate-authority=" + c.pki("ca.crt"),
			"--kubelet-preferred-address-types=InternalIP",
			"--kubelet-use-node-status-port",
			"--metric-resolution=10s", // the shortest
			"--kubelet-request-timeout=5s",
		}, nil
	},
}

// registerMetrics makes metrics-server on a port an aggregated API. Endpoints
// cannot name loopback, but the name of an ExternalName Service can.
func registerMetrics(ctx context.Context, c *Cluster, port int) error {
	const manifest = `apiVersion: v1
kind: Service
metadata: {name: metrics-server, namespace: kube-system}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  service: {name: metrics-server, namespace: kube-system, port: %d}
  insecureSkipTLSVerify: true
  groupPriorityMinimum: 100
  versionPriority: 100
`
	apply := []string{"apply", "--server-side", "--filename=-"}
	if _, err := c.RunKubectl(ctx, strings.NewReader(fmt.Sprintf(manifest, port)), apply...); err != nil {
		return err
	}
	wait := []string{"wait", "apiservice/v1beta1.metrics.k8s.io", "--for=condition=Available", "--timeout=1m"}
	_, err := c.RunKubectl(ctx, nil, wait...)
	return err
}
