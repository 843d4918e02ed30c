// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"path/filepath"
	"sync"

	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// A Cluster is a running Kubernetes. Its methods may be called concurrently,
// but only one of Stop, Restart, Reconfigure and Kill is at work at a time.
type Cluster struct {
	mu       sync.Mutex // held by what changes the cluster
	opts     Options    // with defaults
	dir      string
	bin      map[string]string // paths of the built programs by name
	group    *process.Group
	endpoint string // host:port of the API server
	nodes    nodes
}

// Dir returns the cluster's directory.
func (c *Cluster) Dir() string { return c.dir }

// Name returns the cluster's name.
func (c *Cluster) Name() string { return c.opts.Name }

// ServerURL returns the address of the API server.
func (c *Cluster) ServerURL() string { return "https://" + c.endpoint }

// Kubeconfig returns the path of the administrator's kubeconfig: a member of
// system:masters, whose trace contexts the API server trusts.
func (c *Cluster) Kubeconfig() string { return c.kubeconfigPath(adminUser) }

// AuditLog returns the path of the API server's audit log, one JSON event a
// line.
func (c *Cluster) AuditLog() string { return filepath.Join(c.dir, "log", "audit.log") }

// Logs returns the path of a component's log.
func (c *Cluster) Logs(component Component) string {
	return filepath.Join(c.dir, "log", string(component)+".log")
}

// Kubectl returns the path of a kubectl of the cluster's version.
func (c *Cluster) Kubectl() string { return c.bin["kubectl"] }

// caFile is the certificate authority's certificate, in PEM.
func (c *Cluster) caFile() string { return filepath.Join(c.dir, "pki", "ca.crt") }

func (c *Cluster) kubeconfigPath(user string) string {
	return filepath.Join(c.dir, "kubeconfig", user+".yaml")
}
