// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
)

// metricsServer reads the kubelet and serves metrics.k8s.io to the API server.
var metricsServer = addOnComponent{
	ports:    1,
	scheme:   "https",
	ready:    "/livez", // /readyz waits for two readings of the kubelet
	register: registerMetrics,
	args: func(c *Cluster, ports []int) ([]string, error) {
		return append(
			c.aggregatedArgs(MetricsServer, ports[0]),
			"--kubelet-certificate-authority="+c.pki("ca.crt"),
			"--kubelet-preferred-address-types=InternalIP",
			"--kubelet-use-node-status-port",
			"--metric-resolution=10s", // the shortest
			"--kubelet-request-timeout=5s",
		), nil
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
	return c.aggregate(ctx, fmt.Sprintf(manifest, port), "v1beta1.metrics.k8s.io")
}
