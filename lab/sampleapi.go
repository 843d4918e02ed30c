// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"path/filepath"

	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// sampleEtcd is the name of the etcd of the sample API server.
const sampleEtcd = "sample-etcd"

// sampleAPI is Kubernetes' own example of an aggregated API, with a separate etcd. So the
// resourceVersions of its objects are not those of the cluster.
var sampleAPI = addOnSpec{
	components: []Component{SampleAPIServer},
	namespace:  "wardle",
	prepare:    func(_ context.Context, c *Cluster) error { return c.startSampleEtcd() },
}

var sampleAPIServer = addOnComponent{
	ports:  1,
	scheme: "https",
	ready:  "/readyz",
	register: aggregatedAPI{
		namespace: "wardle", service: "api", group: "wardle.example.com", version: "v1alpha1",
		groupPriority: 1000, versionPriority: 15,
	}.register,
	args: func(c *Cluster, ports []int) ([]string, error) {
		return append(
			c.aggregatedArgs(SampleAPIServer, ports[0]),
			"--etcd-servers="+c.etcdAt(c.healthPort(sampleEtcd)),
			"--etcd-cafile="+c.pki("etcd-ca.crt"),
			"--etcd-certfile="+c.pki("apiserver-etcd.crt"),
			"--etcd-keyfile="+c.pki("apiserver-etcd.key"),
			"--audit-log-path="+c.SampleAuditLog(),
			"--audit-log-maxsize=0",
			"--audit-policy-file="+c.etc(auditPolicy),
		), nil
	},
}

// SampleAuditLog returns the path of the audit log of SampleAPI. The API server
// itself logs no answers of an aggregated API.
func (c *Cluster) SampleAuditLog() string { return filepath.Join(c.dir, "log", "sample-audit.log") }

// startSampleEtcd starts the etcd of the sample API server.
func (c *Cluster) startSampleEtcd() error {
	chosen, err := c.choosePorts(1)
	if err != nil {
		return err
	}
	c.healthPorts.Store(Component(sampleEtcd), chosen[0])
	_, err = c.group.Start(process.Spec{
		Name:    sampleEtcd,
		Path:    c.bin[string(Etcd)],
		Args:    c.etcdArgsAt(sampleEtcd, c.etcdAt(chosen[0])),
		LogFile: c.Logs(sampleEtcd),
	})
	return err
}

// etcdArgsAt are the arguments of an etcd at a URL, with its data in a directory of that name.
func (c *Cluster) etcdArgsAt(name, url string) []string {
	return []string{
		"--name=lab",
		"--data-dir=" + filepath.Join(c.dir, "data", name),
		"--listen-client-urls=" + url,
		"--advertise-client-urls=" + url,
		"--listen-peer-urls=http://127.0.0.1:0",
		"--initial-advertise-peer-urls=http://127.0.0.1:0",
		"--initial-cluster=lab=http://127.0.0.1:0",
		"--cert-file=" + c.pki("etcd.crt"),
		"--key-file=" + c.pki("etcd.key"),
		"--trusted-ca-file=" + c.pki("etcd-ca.crt"),
		"--client-cert-auth",
		"--unsafe-no-fsync", // the data need not survive a power cut
		"--log-level=warn",
	}
}
