// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/lab/internal/api"
	"github.com/kube-lifeline/lifeline/lab/internal/build"
	"github.com/kube-lifeline/lifeline/lab/internal/pki"
	"github.com/kube-lifeline/lifeline/lab/internal/process"
	"github.com/kube-lifeline/lifeline/lab/ports"
)

const (
	// startLimit bounds a start, building apart.
	startLimit = 8 * time.Minute
	// portAttempts is how often other ports are tried: a free one may be taken
	// by someone else before the component listens on it.
	portAttempts = 3
)

// errPortTaken reports that a component found its port in use.
var errPortTaken = errors.New("address already in use")

// Build builds the programs that such a cluster needs, if the cache lacks
// them. Start does it by itself.
func Build(ctx context.Context, opts Options) error {
	if err := opts.Validate(); err != nil {
		return err
	}
	opts = opts.withDefaults()
	_, err := build.Programs(ctx, opts.Version, opts.programs(), opts.Progress)
	return err
}

// Built reports whether the cache has the programs that such a cluster needs.
func Built(ctx context.Context, opts Options) (bool, error) {
	if err := opts.Validate(); err != nil {
		return false, err
	}
	opts = opts.withDefaults()
	return build.Cached(ctx, opts.Version, opts.programs())
}

// Start starts a cluster and returns when it is ready for use: the nodes are
// Ready and Pods can be created. When it fails nothing is left running, and
// the directory is kept, because the error names logs in it.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	return startWith(ctx, opts, ports.Free)
}

// startWith is Start with another way of choosing ports.
func startWith(ctx context.Context, opts Options, choosePorts func(int) ([]int, error)) (*Cluster, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	if err := opts.checkMachine(); err != nil {
		return nil, err
	}
	opts.Progress = &lines{w: opts.Progress}
	if opts.Name == "" {
		opts.Name = "t-" + strings.ToLower(rand.Text()[:8])
	}
	bin, err := build.Programs(ctx, opts.Version, opts.programs(), opts.Progress)
	if err != nil {
		return nil, err
	}
	c := &Cluster{opts: opts, bin: bin, dir: opts.Dir, choosePorts: choosePorts}
	if err := c.claimDir(ctx); err != nil {
		return nil, err
	}
	c.group = process.NewGroup(c.dir, opts.Detached)

	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("more than %s have passed", startLimit))
	defer cancel()
	if err := c.start(ctx); err != nil {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer cancel()
		return nil, fmt.Errorf("cannot start cluster %s in %s: %w", opts.Name, c.dir, errors.Join(err, c.halt(stopCtx)))
	}
	return c, nil
}

// programs names what must be built.
func (o Options) programs() []string {
	names := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"}
	switch o.Nodes {
	case NodesKWOK:
		names = append(names, "kwok")
	case NodesReal:
		names = append(names, "kubelet", "containerd", "containerd-shim-runc-v2")
	}
	for _, spec := range o.addOns() {
		if spec.program != "" {
			names = append(names, spec.program)
		}
		for _, component := range spec.components {
			names = append(names, string(component))
		}
	}
	return names
}

func (c *Cluster) start(ctx context.Context) error {
	begin := time.Now()
	if err := c.makeAuthority(); err != nil {
		return err
	}
	if err := c.startStorage(ctx); err != nil {
		return err
	}
	c.say("API server %s ready at %s after %s",
		c.Release(), c.ServerURL(), time.Since(begin).Round(100*time.Millisecond))
	if c.opts.BeforeControllers != nil {
		if err := c.opts.BeforeControllers(ctx, c); err != nil {
			return fmt.Errorf("before the controllers: %w", err)
		}
	}
	for _, component := range []Component{ControllerManager, Scheduler} {
		if err := c.launch(component); err != nil {
			return err
		}
	}
	if err := c.startNodes(ctx); err != nil {
		return err
	}
	if err := c.awaitAll(ctx); err != nil {
		return err
	}
	if err := c.startAddOns(ctx); err != nil {
		return err
	}
	c.say("cluster %s ready after %s", c.opts.Name, time.Since(begin).Round(100*time.Millisecond))
	return c.Err()
}

// makeAuthority creates the certificates that do not depend on ports.
func (c *Cluster) makeAuthority() error {
	for _, dir := range []string{"pki", "etc", "kubeconfig", "log", "data"} {
		if err := os.MkdirAll(filepath.Join(c.dir, dir), 0o700); err != nil {
			return fmt.Errorf("cannot create the cluster's directory: %w", err)
		}
	}
	var err error
	if c.authority, err = pki.New("lab-" + c.opts.Name); err != nil {
		return err
	}
	if err := c.authority.Save(c.pki("")); err != nil {
		return err
	}
	key, err := pki.NewKey()
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.pki("service-account.key"), key, 0o600); err != nil {
		return fmt.Errorf("cannot save the service account key: %w", err)
	}
	// etcd has its own certificate authority: users of the API must not get in.
	storage, err := pki.New("lab-" + c.opts.Name + "-etcd")
	if err != nil {
		return err
	}
	if err := writeFile(c.pki("etcd-ca.crt"), string(storage.CA())); err != nil {
		return err
	}
	for name, issue := range map[string]func() (pki.Pair, error){
		"etcd":           func() (pki.Pair, error) { return storage.Server("etcd", "127.0.0.1", "localhost") },
		"apiserver-etcd": func() (pki.Pair, error) { return storage.Client("kube-apiserver") },
		"apiserver": func() (pki.Pair, error) {
			return c.authority.Server("kube-apiserver", "127.0.0.1", "localhost", "kubernetes", "kubernetes.default",
				"kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "10.96.0.1")
		},
		frontProxy: func() (pki.Pair, error) { return c.authority.Client(frontProxy) },
		"apiserver-kubelet": func() (pki.Pair, error) {
			return c.authority.Client("kube-apiserver-kubelet-client", adminGroup)
		},
	} {
		pair, err := issue()
		if err != nil {
			return err
		}
		if err := pair.Save(c.pki(""), name); err != nil {
			return err
		}
	}
	return nil
}

// startStorage starts etcd and the API server on free ports.
func (c *Cluster) startStorage(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := c.startStorageOnce(ctx)
		if err == nil || attempt == portAttempts || !errors.Is(err, errPortTaken) {
			return err
		}
		c.say("a port was taken, trying others")
		if err := c.group.Stop(ctx); err != nil {
			return err
		}
	}
}

func (c *Cluster) startStorageOnce(ctx context.Context) error {
	ports, err := c.choosePorts(2)
	if err != nil {
		return err
	}
	c.etcdPort, c.apiPort = ports[0], ports[1]
	if err := c.writeKubeconfigs(); err != nil {
		return err
	}
	if err := c.saveState(); err != nil {
		return err
	}
	if err := c.launch(Etcd); err != nil {
		return err
	}
	if err := c.awaitReady(ctx, Etcd); err != nil {
		return err
	}
	if err := c.launch(APIServer); err != nil {
		return err
	}
	return c.awaitReady(ctx, APIServer)
}

// writeKubeconfigs writes those of all users and components, and connects the
// administrator's client.
func (c *Cluster) writeKubeconfigs() error {
	pair, err := c.authority.Client(adminUser, adminGroup)
	if err != nil {
		return err
	}
	if err := c.writeKubeconfigFor(c.Kubeconfig(), adminUser, pair); err != nil {
		return err
	}
	if c.admin, err = api.New(c.ServerURL(), c.authority.CA(), pair); err != nil {
		return err
	}
	for _, u := range c.opts.Users {
		if err := c.writeKubeconfig(c.KubeconfigFor(u.Name), u.Name, u.Groups...); err != nil {
			return err
		}
	}
	for _, component := range []Component{ControllerManager, Scheduler} {
		path := c.etc(string(component) + ".kubeconfig")
		if err := c.writeKubeconfig(path, "system:"+string(component)); err != nil {
			return err
		}
	}
	return nil
}
