// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/lab/internal/api"
	"github.com/kube-lifeline/lifeline/lab/internal/gitserver"
	"github.com/kube-lifeline/lifeline/lab/internal/pki"
	"github.com/kube-lifeline/lifeline/lab/internal/process"
	"github.com/kube-lifeline/lifeline/lab/internal/registry"
)

// stopLimit bounds how long Stop waits before it kills.
const stopLimit = time.Minute

// A Cluster is a running Kubernetes. Its methods may be called concurrently;
// those that change it wait for each other.
type Cluster struct {
	changing  sync.Mutex // held by what changes the cluster
	opts      Options    // with defaults
	dir       string
	temporary bool              // Stop removes dir
	bin       map[string]string // paths of the built programs by name
	authority *pki.Authority
	group     *process.Group
	admin     *api.Client
	nodes     nodes

	choosePorts       func(n int) ([]int, error)
	apiPort, etcdPort int
	healthPorts       sync.Map // of the controller manager, the scheduler and the add-ons
	git               string   // host:port of the Git server; empty without Flux and Argo CD
}

// Dir returns the cluster's directory.
func (c *Cluster) Dir() string { return c.dir }

// Name returns the cluster's name.
func (c *Cluster) Name() string { return c.opts.Name }

// ServerURL returns the address of the API server.
func (c *Cluster) ServerURL() string { return fmt.Sprintf("https://127.0.0.1:%d", c.apiPort) }

// AuditLog returns the path of the API server's audit log, one JSON event a
// line.
func (c *Cluster) AuditLog() string { return filepath.Join(c.dir, "log", "audit.log") }

// Logs returns the path of a component's log.
func (c *Cluster) Logs(component Component) string {
	return filepath.Join(c.dir, "log", string(component)+".log")
}

// Kubectl returns the path of a kubectl of the cluster's version.
func (c *Cluster) Kubectl() string { return c.bin["kubectl"] }

// Err returns nil while everything that should run does; otherwise which
// component ended, how, and how its log ends.
func (c *Cluster) Err() error {
	var errs []error
	for _, component := range append([]Component{registry.Name, gitserver.Name}, components...) {
		if p := c.group.Get(string(component)); p != nil {
			errs = append(errs, p.Err())
		}
	}
	return errors.Join(errs...)
}

// Stop ends the cluster and removes its directory if that is a temporary one.
// Stopping twice is harmless; nothing else may follow.
func (c *Cluster) Stop() error {
	c.changing.Lock()
	defer c.changing.Unlock()
	if c.group == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	err := c.halt(ctx)
	if c.temporary && err == nil {
		err = os.RemoveAll(c.dir)
	}
	return err
}

// halt ends all processes and leaves the directory.
func (c *Cluster) halt(ctx context.Context) error {
	var errs []error
	if c.nodes != nil {
		errs = append(errs, c.nodes.stop(ctx))
	}
	if !c.temporary { // the data of a temporary cluster are not read again
		errs = append(errs, c.group.Stop(ctx))
	}
	errs = append(errs, c.group.Close())
	if c.admin != nil {
		c.admin.Close()
	}
	c.group = nil
	return errors.Join(errs...)
}

func (c *Cluster) say(format string, args ...any) {
	fmt.Fprintf(c.opts.Progress, format+"\n", args...)
}

// etc returns the path of a configuration file.
func (c *Cluster) etc(name string) string { return filepath.Join(c.dir, "etc", name) }

// pki returns the path of a certificate or key.
func (c *Cluster) pki(name string) string { return filepath.Join(c.dir, "pki", name) }

// lines is a progress sink that several goroutines may share.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
