// SPDX-License-Identifier: Apache-2.0

package lab

// metricsServer reads the kubelet and serves metrics.k8s.io to the API server.
var metricsServer = addOnComponent{
	ports:  1,
	scheme: "https",
	ready:  "/livez", // /readyz waits for two readings of the kubelet
	register: aggregatedAPI{
		namespace: "kube-system", service: "metrics-server", group: "metrics.k8s.io", version: "v1beta1",
		groupPriority: 100, versionPriority: 100,
	}.register,
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
