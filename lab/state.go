// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// stateFile describes, in a cluster's directory, the cluster.
const stateFile = "cluster.json"

// Info describes a cluster to another process than the one that started it.
type Info struct {
	Name string `json:"name"`
	Dir  string `json:"dir"`
	// Kubernetes is its version, such as v1.37.2.
	Kubernetes string   `json:"kubernetes"`
	Nodes      NodeMode `json:"nodes"`
	Server     string   `json:"server"`
	Kubeconfig string   `json:"kubeconfig"`
	Kubectl    string   `json:"kubectl"`
	// Helm is the path of helm. It is empty without the add-on Helm.
	Helm     string `json:"helm,omitempty"`
	AuditLog string `json:"auditLog"`
	// Registry is the host:port that real nodes pull from.
	Registry string `json:"registry,omitempty"`
	// AddOns are those of the cluster. Git is the URL of its Git repository,
	// which Flux brings.
	AddOns   []AddOn   `json:"addOns,omitempty"`
	Git      string    `json:"git,omitempty"`
	Started  time.Time `json:"started"`
	Detached bool      `json:"detached"`
	// Processes are those that the cluster started, the first started first.
	Processes []Process `json:"-"`

	// Owner is the process that a cluster lives as long as, if not detached.
	Owner process.Entry `json:"owner"`
}

// A Process is one component of a cluster, as recorded.
type Process struct {
	Name    string
	Pid     int
	Running bool
	Log     string
}

// saveState records the cluster for others.
func (c *Cluster) saveState() error {
	address := ""
	if n, ok := c.nodes.(*realNodes); ok {
		address = n.registry.Address
	}
	return writeJSON(filepath.Join(c.dir, stateFile), Info{
		Registry:   address,
		AddOns:     c.opts.AddOns,
		Git:        c.GitURL(),
		Name:       c.opts.Name,
		Dir:        c.dir,
		Kubernetes: c.Release(),
		Nodes:      c.opts.Nodes,
		Server:     c.ServerURL(),
		Kubeconfig: c.Kubeconfig(),
		Kubectl:    c.Kubectl(),
		Helm:       c.bin["helm"],
		AuditLog:   c.AuditLog(),
		Started:    time.Now(),
		Detached:   c.opts.Detached,
		Owner:      process.Self(),
	})
}

// Inspect describes the cluster in dir, whether or not it runs.
func Inspect(dir string) (Info, error) {
	var info Info
	data, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return info, fmt.Errorf("no cluster in %s: %w", dir, err)
	}
	if err != nil {
		return info, fmt.Errorf("cannot read the state of the cluster in %s: %w", dir, err)
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return info, fmt.Errorf("cannot read %s: %w", filepath.Join(dir, stateFile), err)
	}
	entries, err := process.Recorded(dir)
	if err != nil {
		return info, err
	}
	for _, e := range entries {
		info.Processes = append(info.Processes, Process{Name: e.Name, Pid: e.Pid, Running: e.Alive(), Log: e.Log})
	}
	return info, nil
}

// Running reports whether any process of the cluster is there.
func (i Info) Running() bool {
	for _, p := range i.Processes {
		if p.Running {
			return true
		}
	}
	return false
}
