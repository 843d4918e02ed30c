// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"

	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// The kubelet listens on the node's own address, so its usual ports are free.
const (
	kubeletPort = 10250
	healthzPort = 10248
)

// writeKubelet writes the KubeletConfiguration. JSON is YAML, too.
func (n *Node) writeKubelet() error {
	type object = map[string]any
	endpoint := "unix://" + n.layout.socket()
	address := n.network.node.String()
	conf := object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",

		"address":            address,
		"port":               kubeletPort,
		"healthzBindAddress": address,
		"healthzPort":        healthzPort,
		"authentication": object{
			"anonymous": object{"enabled": false},
			"webhook":   object{"enabled": true},
			"x509":      object{"clientCAFile": n.cfg.ClientCA},
		},
		"authorization":     object{"mode": "Webhook"},
		"tlsCertFile":       n.layout.servingCert(),
		"tlsPrivateKeyFile": n.layout.servingKey(),

		"containerRuntimeEndpoint": endpoint,
		"imageServiceEndpoint":     endpoint,
		"podLogsDir":               n.layout.podLogs(),
		"volumePluginDir":          filepath.Join(n.layout.kubeletRoot(), "volume-plugins"),

		"cgroupDriver": "cgroupfs",
		"cgroupRoot":   n.layout.cgroup(),
		"failCgroupV1": false,
		"failSwapOn":   false,

		// Nothing resolves names for Pods; without an address the kubelet
		// complains about every one of them in an Event.
		"clusterDNS":    []string{address},
		"clusterDomain": "cluster.local",

		// Packet filter rules would stay behind.
		"makeIPTablesUtilChains": false,
		// Tests must not depend on free disk space.
		"imageGCHighThresholdPercent": 100,
		"evictionHard": object{
			"memory.available": "0%", "pid.available": "0%",
			"nodefs.available": "0%", "nodefs.inodesFree": "0%",
			"imagefs.available": "0%", "imagefs.inodesFree": "0%",
		},
	}
	if t := n.cfg.KubeletTracing; t != nil {
		conf["tracing"] = object{"endpoint": t.Endpoint, "samplingRatePerMillion": t.SamplingRatePerMillion}
	}
	return writeJSON(n.layout.kubeletConfig(), conf)
}

func (n *Node) kubeletSpec() process.Spec {
	return process.Spec{
		Name: KubeletProcess,
		Path: n.cfg.Kubelet,
		Args: append([]string{
			n.layout.kubeletArg(),
			"--kubeconfig=" + n.cfg.Kubeconfig,
			"--hostname-override=" + n.cfg.Name,
			"--node-ip=" + n.network.node.String(),
			"--root-dir=" + n.layout.kubeletRoot(),
			"--cert-dir=" + filepath.Join(n.layout.kubeletRoot(), "pki"),
			"-v=2",
		}, n.cfg.KubeletArgs...),
		LogFile: n.cfg.KubeletLog,
	}
}

// healthy requests the kubelet's health from the kubelet itself.
func (n *Node) healthy(ctx context.Context) error {
	url := "http://" + net.JoinHostPort(n.network.node.String(), strconv.Itoa(healthzPort)) + "/healthz"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	// Not the default client: the node's address must never go through a proxy.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}
