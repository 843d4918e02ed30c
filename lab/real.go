// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	realnode "github.com/kube-lifeline/lifeline/lab/internal/node"
	"github.com/kube-lifeline/lifeline/lab/internal/registry"
	"github.com/kube-lifeline/lifeline/lab/ports"
)

// ErrNeedsRoot is the error of Start for NodesReal without root. Tests skip on it.
var ErrNeedsRoot = realnode.ErrNeedsRoot

// realNodeName is that of the only node of NodesReal.
const realNodeName = "node-0"

// topologyLabels are the node's region and zone, as in a cloud.
const topologyLabels = "topology.kubernetes.io/region=lab,topology.kubernetes.io/zone=lab-a"

// realNodes is one real node, with the registry that it pulls from.
type realNodes struct {
	cluster  *Cluster
	node     *realnode.Node
	registry registry.Client
}

// realNodeDir is where the real node of the cluster in dir lives.
func realNodeDir(dir string) string { return filepath.Join(dir, realNodeName) }

// KubeletDir returns the directory of the real node's kubelet. CSI drivers register below it, and mount
// the volumes of Pods there.
func (c *Cluster) KubeletDir() string { return realnode.KubeletRoot(realNodeDir(c.dir)) }

func (n *realNodes) names() []string { return []string{realNodeName} }

func (n *realNodes) start(ctx context.Context) error {
	c := n.cluster
	if err := n.startRegistry(ctx); err != nil {
		return err
	}
	if err := n.pushDefaults(ctx); err != nil {
		return err
	}
	if err := c.writeKubeconfig(c.etc("kubelet.kubeconfig"), "system:node:"+realNodeName, "system:nodes"); err != nil {
		return err
	}
	if err := c.saveState(); err != nil { // the registry is known now
		return err
	}
	n.node = realnode.New(n.config(), c.group)
	if err := n.node.Start(ctx); err != nil {
		return err
	}
	// The sandbox image, and with it the program's layer, is there by now: the
	// limit is for what Pods pull.
	return n.registry.SetBandwidth(ctx, c.opts.PullBandwidth)
}

func (n *realNodes) config() realnode.Config {
	c := n.cluster
	return realnode.Config{
		Name:       realNodeName,
		Dir:        realNodeDir(c.dir),
		Detached:   c.opts.Detached,
		Kubelet:    c.bin["kubelet"],
		Containerd: c.bin["containerd"],
		Shim:       c.bin["containerd-shim-runc-v2"],
		Kubeconfig: c.etc("kubelet.kubeconfig"),
		ClientCA:   c.pki("ca.crt"),
		ServingCert: func(hosts ...string) (cert, key []byte, err error) {
			cert, key, _, err = c.ServingCert(hosts...)
			return cert, key, err
		},
		Registry:          n.registry.Address,
		PauseImage:        n.registry.Image(pauseImage),
		KubeletLog:        c.Logs(Kubelet),
		ContainerdLog:     c.Logs(Containerd),
		KubeletArgs:       append([]string{"--node-labels=" + topologyLabels}, c.opts.ExtraArgs[Kubelet]...),
		ContainerdArgs:    c.opts.ExtraArgs[Containerd],
		KubeletTracing:    c.nodeTracing(Kubelet),
		ContainerdTracing: c.nodeTracing(Containerd),
	}
}

func (c *Cluster) nodeTracing(component Component) *realnode.Tracing {
	t, ok := c.opts.Tracing[component]
	if !ok {
		return nil
	}
	return &realnode.Tracing{Endpoint: t.Endpoint, SamplingRatePerMillion: t.SamplingRatePerMillion}
}

func (n *realNodes) startRegistry(ctx context.Context) error {
	c := n.cluster
	for attempt := 1; ; attempt++ {
		free, err := ports.Free(1)
		if err != nil {
			return err
		}
		n.registry = registry.Client{Address: fmt.Sprintf("127.0.0.1:%d", free[0])}
		spec, err := registry.Spec(n.registry.Address, filepath.Join(c.dir, "data", "registry"), c.registryLog())
		if err != nil {
			return err
		}
		p, err := c.group.Start(spec)
		if err != nil {
			return err
		}
		err = p.WaitReady(ctx, n.registry.Ready)
		if err == nil || attempt == portAttempts || !strings.Contains(err.Error(), errPortTaken.Error()) {
			return err
		}
	}
}

func (c *Cluster) registryLog() string { return filepath.Join(c.dir, "log", registry.Name+".log") }

func (n *realNodes) restart(ctx context.Context, component Component) error {
	switch component {
	case Kubelet:
		return n.node.RestartKubelet(ctx, n.config())
	case Containerd:
		return n.node.RestartContainerd(ctx, n.config())
	default:
		return fmt.Errorf("cannot restart %s: the node consists of %s and %s", component, Kubelet, Containerd)
	}
}

func (n *realNodes) stop(ctx context.Context) error {
	var errs []error
	if n.node != nil {
		errs = append(errs, n.node.Stop(ctx))
	}
	if p := n.cluster.group.Get(registry.Name); p != nil {
		errs = append(errs, p.Stop(ctx))
	}
	return errors.Join(errs...)
}

// checkMachine reports what keeps this machine from running such a cluster.
func (o Options) checkMachine() error {
	for _, spec := range o.addOns() {
		if spec.check == nil {
			continue
		}
		if err := spec.check(); err != nil {
			return err
		}
	}
	if o.Nodes != NodesReal {
		return nil
	}
	return realnode.Check()
}
