// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// awaitReady waits until a component of the control plane, or of an add-on,
// serves.
func (c *Cluster) awaitReady(ctx context.Context, component Component) error {
	probe := map[Component]func(context.Context) error{
		Etcd:      c.etcdReady,
		APIServer: func(ctx context.Context) error { return c.admin.Get(ctx, "/readyz", nil) },
		ControllerManager: func(ctx context.Context) error {
			return errors.Join(c.healthy(ctx, ControllerManager, "/healthz"), c.serviceAccountReady(ctx))
		},
		Scheduler: func(ctx context.Context) error { return c.healthy(ctx, Scheduler, "/readyz") },
	}[component]
	if _, ok := addOnComponents[component]; ok {
		probe = func(ctx context.Context) error { return c.addOnReady(ctx, component) }
	}
	err := c.group.Get(string(component)).WaitReady(ctx, probe)
	if err != nil && strings.Contains(process.Tail(c.Logs(component)), errPortTaken.Error()) {
		return fmt.Errorf("%w: %w", errPortTaken, err)
	}
	return err
}

// ensure waits until a component that picks its port itself serves, and starts
// it again if that port was taken meanwhile.
func (c *Cluster) ensure(ctx context.Context, component Component) error {
	for attempt := 1; ; attempt++ {
		err := c.awaitReady(ctx, component)
		if err == nil {
			return c.registerAddOn(ctx, component)
		}
		if attempt == portAttempts || !errors.Is(err, errPortTaken) {
			return err
		}
		c.say("a port was taken, trying another")
		if err := c.launch(component); err != nil {
			return err
		}
	}
}

// awaitAll waits for controllers, scheduler and nodes at once, so that the
// first failure ends it.
func (c *Cluster) awaitAll(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	waits := []func(context.Context) error{
		func(ctx context.Context) error { return c.ensure(ctx, ControllerManager) },
		func(ctx context.Context) error { return c.ensure(ctx, Scheduler) },
		c.awaitNodes,
	}
	var (
		running sync.WaitGroup
		once    sync.Once
		first   error
	)
	for _, wait := range waits {
		running.Go(func() {
			if err := wait(ctx); err != nil {
				once.Do(func() { first = err })
				cancel(errors.New("another component failed"))
			}
		})
	}
	running.Wait()
	return first
}

// awaitNodes waits until all nodes take Pods, or what plays them ends.
func (c *Cluster) awaitNodes(ctx context.Context) error {
	for _, component := range []Component{KWOK, Kubelet} {
		if p := c.group.Get(string(component)); p != nil {
			return p.WaitReady(ctx, c.nodesReady)
		}
	}
	return nil
}

// healthy requests the health of a component from the component itself.
func (c *Cluster) healthy(ctx context.Context, component Component, path string) error {
	return c.admin.At(fmt.Sprintf("https://127.0.0.1:%d", c.healthPort(component))).Get(ctx, path, nil)
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

// node has the fields of a Node that readiness needs.
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

// nodesReady succeeds once every node accepts Pods: it is Ready, without the taint of a new node.
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

// writeFile writes a configuration file of the cluster.
func writeFile(path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("cannot write configuration: %w", err)
	}
	return nil
}
