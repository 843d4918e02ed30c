// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
)

// nodes is what plays the nodes of one cluster. Its processes run in the
// cluster's process group, so that a crash of the caller ends them too.
type nodes interface {
	// names are those of the Node objects that become Ready.
	names() []string
	// start returns once everything runs; waiting for Ready is the cluster's.
	start(ctx context.Context) error
	// restart ends one component and starts it again, with the cluster's
	// present options.
	restart(ctx context.Context, component Component) error
	// stop ends everything that start began, also after it failed half-way.
	stop(ctx context.Context) error
}

// startNodes starts the nodes: KWOK, or a kubelet with containerd.
func (c *Cluster) startNodes(ctx context.Context) error {
	switch c.opts.Nodes {
	case NodesKWOK:
		c.nodes = &kwokNodes{cluster: c}
	case NodesReal:
		c.nodes = &realNodes{cluster: c}
	default:
		return nil
	}
	return c.nodes.start(ctx)
}
