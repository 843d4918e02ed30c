// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"path/filepath"
	"strconv"
)

var clusterAPI = addOnSpec{
	components: []Component{ClusterAPIManager},
	namespace:  "capi-system",
}

// clusterAPIManager is the core manager of Cluster API. Its webhooks are served
// and not registered.
var clusterAPIManager = addOnComponent{
	ports: 3,
	ready: "/readyz",
	args: func(c *Cluster, ports []int) ([]string, error) {
		certificate, key := c.pki("apiserver.crt"), c.pki("apiserver.key")
		return []string{
			"--health-addr=" + loopback(ports[0]),
			"--diagnostics-address=" + loopback(ports[1]),
			"--insecure-diagnostics",
			"--webhook-port=" + strconv.Itoa(ports[2]),
			"--webhook-cert-dir=" + filepath.Dir(certificate),
			"--webhook-cert-name=" + filepath.Base(certificate),
			"--webhook-key-name=" + filepath.Base(key),
		}, nil
	},
	env: func(*Cluster) []string { return []string{"POD_NAMESPACE=" + clusterAPI.namespace} },
}
