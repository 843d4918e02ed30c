// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"

	"github.com/kube-lifeline/lifeline/lab/internal/kwok"
	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// kwokNodes are nodes that one KWOK process plays.
type kwokNodes struct{ cluster *Cluster }

func (n *kwokNodes) names() []string {
	var names []string
	for i := range n.cluster.opts.NodeCount {
		names = append(names, fmt.Sprintf("node-%d", i))
	}
	return names
}

func (n *kwokNodes) start(ctx context.Context) error {
	c := n.cluster
	// The identity of the first node's kubelet, so that its writes look as a
	// kubelet's do; the group lets it play the others too.
	user := "system:node:" + n.names()[0]
	if err := c.writeKubeconfig(c.etc("kwok.kubeconfig"), user, "system:nodes", adminGroup); err != nil {
		return err
	}
	if err := n.launch(); err != nil {
		return err
	}
	for _, name := range n.names() {
		if err := c.admin.Create(ctx, "/api/v1/nodes", kwokNode(name, c.Release())); err != nil {
			return fmt.Errorf("cannot create node %s: %w", name, err)
		}
	}
	return nil
}

func (n *kwokNodes) launch() error {
	c := n.cluster
	config, err := kwok.Config(kwok.Delays(c.opts.KWOK))
	if err != nil {
		return err
	}
	path := c.etc("kwok.yaml")
	if err := writeFile(path, string(config)); err != nil {
		return err
	}
	args := []string{
		"--kubeconfig=" + c.etc("kwok.kubeconfig"),
		"--config=" + path,
		"--manage-nodes-with-label-selector=!" + deadLabel,
		"--node-lease-duration-seconds=40",
		"--cidr=10.244.0.0/16",
	}
	_, err = c.group.Start(process.Spec{
		Name:    string(KWOK),
		Path:    c.bin[string(KWOK)],
		Argv0:   "kubelet", // becomes the user agent, and so the field manager
		Args:    append(args, c.opts.ExtraArgs[KWOK]...),
		LogFile: c.Logs(KWOK),
		// It reads ~/.kwok/kwok.yaml too.
		Env: []string{"KWOK_WORKDIR=" + c.etc("kwok")},
	})
	return err
}

func (n *kwokNodes) restart(ctx context.Context, component Component) error {
	if component != KWOK {
		return fmt.Errorf("cannot restart %s: the nodes are played by %s", component, KWOK)
	}
	if err := n.cluster.group.Get(string(KWOK)).Stop(ctx); err != nil {
		return err
	}
	return n.launch()
}

func (n *kwokNodes) stop(ctx context.Context) error {
	if p := n.cluster.group.Get(string(KWOK)); p != nil {
		return p.Stop(ctx)
	}
	return nil
}

// deadLabel is the label of a Node whose kubelet has stopped: KWOK neither renews its Lease nor
// changes its Pods. Because of the selector, KWOK also leaves out Nodes without any label.
const deadLabel = "lab.lifeline.dev/dead"

// kwokNode is a Node as a kubelet registers it; a stage makes it Ready.
func kwokNode(name, release string) any {
	resources := map[string]string{"cpu": "16", "memory": "64Gi", "ephemeral-storage": "200Gi", "pods": "5000"}
	return map[string]any{
		"apiVersion": "v1",
		"kind":       "Node",
		"metadata": map[string]any{
			"name": name,
			"labels": map[string]string{
				"kubernetes.io/hostname":        name,
				"kubernetes.io/os":              "linux",
				"kubernetes.io/arch":            "amd64",
				"topology.kubernetes.io/region": "lab",
				"topology.kubernetes.io/zone":   "lab-a",
			},
		},
		"status": map[string]any{
			"capacity":    resources,
			"allocatable": resources,
			"addresses": []any{
				map[string]string{"type": "InternalIP", "address": "127.0.0.1"},
				map[string]string{"type": "Hostname", "address": name},
			},
			"nodeInfo": map[string]string{
				"kubeletVersion": release, "containerRuntimeVersion": "kwok://0.8.0",
				"operatingSystem": "linux", "architecture": "amd64", "osImage": "KWOK", "kernelVersion": "0",
				"machineID": "", "systemUUID": "", "bootID": "", "kubeProxyVersion": "",
			},
		},
	}
}
