// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
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

// aggregate applies the manifest of an APIService and its Service, and waits until the API is available.
func (c *Cluster) aggregate(ctx context.Context, manifest, apiService string) error {
	apply := []string{"apply", "--server-side", "--filename=-"}
	if _, err := c.RunKubectl(ctx, strings.NewReader(manifest), apply...); err != nil {
		return err
	}
	wait := []string{"wait", "apiservice/" + apiService, "--for=condition=Available", "--timeout=1m"}
	_, err := c.RunKubectl(ctx, nil, wait...)
	return err
}
