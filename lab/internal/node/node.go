// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// A Node is a kubelet with its containerd. One of its methods runs at a time.
type Node struct {
	cfg     Config
	group   *process.Group
	layout  layout
	tools   tools
	network network
	guard   *guard // nil if detached, or not started
}

// New returns a node that has not been started. Its processes will run in
// group, which stays the caller's.
func New(cfg Config, group *process.Group) *Node {
	return &Node{cfg: cfg, group: group, layout: layoutOf(cfg.Dir)}
}

// Start first removes the remains of an earlier node with the same directory, then runs containerd
// and the kubelet. It returns once both answer. It does not wait for a Ready Node object. After a
// failure, Stop removes the started parts.
func (n *Node) Start(ctx context.Context) error {
	found, err := findTools()
	if err != nil {
		return err
	}
	n.tools = found
	if err := Cleanup(ctx, n.cfg.Dir); err != nil {
		return err
	}
	if err := n.prepare(); err != nil {
		return err
	}
	if err := n.startContainerd(ctx); err != nil {
		return err
	}
	if err := n.pullPauseImage(ctx); err != nil {
		return err
	}
	return n.startKubelet(ctx)
}

// prepare makes the directories, control groups and network.
func (n *Node) prepare() error {
	l := n.layout
	for _, dir := range []string{l.dir, l.cniDir(), l.hostsDir(), l.containerdTemp(), l.kubeletData(), l.podLogs()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("cannot make the node's directories: %w", err)
		}
	}
	lock, err := lockMachine()
	if err != nil {
		return err
	}
	defer lock.unlock()
	if !n.cfg.Detached {
		if n.guard, err = l.startGuard(); err != nil {
			return err
		}
	}
	// From here on this node counts among those of the machine.
	if err := os.MkdirAll(l.kubeletRoot(), 0o711); err != nil {
		return fmt.Errorf("cannot make the node's runtime directory: %w", err)
	}
	if err := unix.Mount(l.kubeletData(), l.kubeletRoot(), "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("cannot mount %s at %s: %w", l.kubeletData(), l.kubeletRoot(), err)
	}
	if err := lock.rememberSysctls(); err != nil {
		return err
	}
	if n.network, err = l.setUpNetwork(); err != nil {
		return err
	}
	if err := l.writeCNI(n.network); err != nil {
		return err
	}
	if err := n.writeServingCert(); err != nil {
		return err
	}
	return l.makeCgroups()
}

func (n *Node) writeServingCert() error {
	cert, key, err := n.cfg.ServingCert(n.network.node.String(), n.cfg.Name)
	if err != nil {
		return fmt.Errorf("cannot certify the kubelet: %w", err)
	}
	if err := errors.Join(
		os.WriteFile(n.layout.servingCert(), cert, 0o600),
		os.WriteFile(n.layout.servingKey(), key, 0o600),
	); err != nil {
		return fmt.Errorf("cannot certify the kubelet: %w", err)
	}
	return nil
}

func (n *Node) startContainerd(ctx context.Context) error {
	if err := n.writeContainerd(); err != nil {
		return err
	}
	return n.run(ctx, n.containerdSpec(), n.runtimeReady)
}

func (n *Node) startKubelet(ctx context.Context) error {
	if err := n.writeKubelet(); err != nil {
		return err
	}
	return n.run(ctx, n.kubeletSpec(), n.healthy)
}

func (n *Node) run(ctx context.Context, spec process.Spec, ready func(context.Context) error) error {
	p, err := n.group.Start(spec)
	if err != nil {
		return err
	}
	return p.WaitReady(ctx, ready)
}

// RestartKubelet ends the kubelet and starts it with the configuration of cfg; name, directory and
// programs stay. Containers continue.
func (n *Node) RestartKubelet(ctx context.Context, cfg Config) error {
	if err := n.end(ctx, KubeletProcess); err != nil {
		return err
	}
	n.cfg.KubeletArgs, n.cfg.KubeletTracing = cfg.KubeletArgs, cfg.KubeletTracing
	return n.startKubelet(ctx)
}

// RestartContainerd does the same with containerd.
func (n *Node) RestartContainerd(ctx context.Context, cfg Config) error {
	if err := n.end(ctx, ContainerdProcess); err != nil {
		return err
	}
	n.cfg.ContainerdArgs, n.cfg.ContainerdTracing = cfg.ContainerdArgs, cfg.ContainerdTracing
	return n.startContainerd(ctx)
}

// Socket is where containerd listens.
func (n *Node) Socket() string { return n.layout.socket() }

// Stop ends the node and removes every trace of it but its logs. Containers
// are killed: it does not wait for them to end in their own time.
func (n *Node) Stop(ctx context.Context) error {
	// The kubelet first: it would restart the others.
	err := errors.Join(n.end(ctx, KubeletProcess), n.end(ctx, ContainerdProcess), Cleanup(ctx, n.cfg.Dir))
	if n.guard != nil {
		err = errors.Join(err, n.guard.release())
		n.guard = nil
	}
	return err
}

func (n *Node) end(ctx context.Context, name string) error {
	p := n.group.Get(name)
	if p == nil {
		return nil
	}
	return p.Stop(ctx)
}
