// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// awaitReady waits until a control plane component serves.
func (c *Cluster) awaitReady(ctx context.Context, component Component) error {
	probe := map[Component]func(context.Context) error{
		Etcd:              c.etcdReady,
		APIServer:         func(ctx context.Context) error { return c.admin.Get(ctx, "/readyz", nil) },
		ControllerManager: c.serviceAccountReady,
		Scheduler:         c.nodesReady,
		KWOK:              c.nodesReady,
	}[component]
	err := c.group.Get(string(component)).WaitReady(ctx, probe)
	if err != nil && strings.Contains(process.Tail(c.Logs(component)), errPortTaken.Error()) {
		return fmt.Errorf("%w: %w", errPortTaken, err)
	}
	return err
}

// etcdReady completes a handshake: etcd listens once it has recovered.
func (c *Cluster) etcdReady(ctx context.Context) error {
	cert, err := tls.LoadX509KeyPair(c.pki("apiserver-etcd.crt"), c.pki("apiserver-etcd.key"))
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(c.pki("etcd-ca.crt"))
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}}}
	conn, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", c.etcdPort))
	if err != nil {
		return err
	}
	return conn.Close()
}

// serviceAccountReady succeeds once Pods can be created in the default
// namespace.
func (c *Cluster) serviceAccountReady(ctx context.Context) error {
	return c.admin.Get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
}

// node is what readiness needs to know of a Node.
type node struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Taints []struct {
			Key string `json:"key"`
		} `json:"taints"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

// nodesReady succeeds once every node takes Pods: it is Ready, and the taint
// of a new node is gone.
func (c *Cluster) nodesReady(ctx context.Context) error {
	if c.nodes == nil {
		return nil
	}
	for _, name := range c.nodes.names() {
		var n node
		if err := c.admin.Get(ctx, "/api/v1/nodes/"+name, &n); err != nil {
			return err
		}
		ready := false
		for _, cond := range n.Status.Conditions {
			ready = ready || (cond.Type == "Ready" && cond.Status == "True")
		}
		if !ready {
			return fmt.Errorf("node %s is not Ready", name)
		}
		for _, taint := range n.Spec.Taints {
			if strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
				return fmt.Errorf("node %s is tainted %s", name, taint.Key)
			}
		}
	}
	return nil
}

// freePorts returns different TCP ports that nobody listens on.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("cannot find a free port: %w", err)
		}
		defer l.Close() // after all were found, so that they differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// writeFile writes a configuration file of the cluster.
func writeFile(path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("cannot write configuration: %w", err)
	}
	return nil
}
