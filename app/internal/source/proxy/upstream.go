// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// route is the destination of a request: a cluster and a user.
type route struct {
	cluster, user string
	// server is the address that the command named instead of the cluster's; empty if none.
	server string
	// own means that the request has its own credential, which replaces the user's. anonymous means
	// that it has none, as clients do over plain HTTP.
	own, anonymous bool
}

// upstream is the connection to an API server as one user.
type upstream struct {
	name   string
	config *rest.Config
	// target has the scheme and host. prefix is the path at the end of the address.
	target *url.URL
	prefix string

	plain    http.RoundTripper
	upgrade  http.RoundTripper
	versions *versions
}

// upstreams creates each upstream for its first request. So unused contexts call no credential
// plugin.
type upstreams struct {
	source *Kubeconfig

	mu   sync.Mutex
	made map[route]*upstream
}

func (u *upstreams) of(r route) (*upstream, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if up, ok := u.made[r]; ok {
		return up, nil
	}
	up, err := u.make(r)
	if err != nil {
		return nil, err
	}
	if u.made == nil {
		u.made = map[route]*upstream{}
	}
	u.made[r] = up
	return up, nil
}

func (u *upstreams) make(r route) (*upstream, error) {
	cfg, err := u.source.config(r.cluster, r.user)
	if err != nil {
		return nil, err
	}
	up := &upstream{name: u.source.contextOf(r.cluster, r.user), versions: newVersions()}
	if r.server != "" {
		cfg.Host = r.server
		up.name += "@" + r.server
	}
	if r.own || r.anonymous {
		cfg = rest.AnonymousClientConfig(cfg)
	}
	if cfg.ExecProvider != nil && !term.IsTerminal(int(os.Stdin.Fd())) {
		cfg.ExecProvider = cfg.ExecProvider.DeepCopy()
		cfg.ExecProvider.StdinUnavailable = true
		cfg.ExecProvider.StdinUnavailableMessage = "standard input belongs to the command that lifeline runs"
		if cfg.ExecProvider.InteractiveMode == "" {
			cfg.ExecProvider.InteractiveMode = clientcmdapi.IfAvailableExecInteractiveMode
		}
	}
	// Bodies pass unchanged: only the client decides about gzip.
	cfg.DisableCompression = true
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot use server %q: %w", cfg.Host, err)
	}
	up.target = &url.URL{Scheme: base.Scheme, Host: base.Host}
	up.prefix = strings.TrimRight(base.Path, "/")
	up.config = cfg
	if up.plain, err = rest.TransportFor(cfg); err != nil {
		return nil, fmt.Errorf("cannot use context %q: %w", up.name, err)
	}
	// Upgrades need HTTP/1.1.
	upgrade := rest.CopyConfig(cfg)
	upgrade.NextProtos = []string{"http/1.1"}
	if up.upgrade, err = rest.TransportFor(upgrade); err != nil {
		return nil, fmt.Errorf("cannot use context %q: %w", up.name, err)
	}
	return up, nil
}

func (u *upstreams) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, up := range u.made {
		utilnet.CloseIdleConnectionsFor(up.plain)
		utilnet.CloseIdleConnectionsFor(up.upgrade)
	}
}

// REST returns the client configuration of the upstream with a Written's name, or nil. The caller
// owns it.
func (p *Proxy) REST(name string) *rest.Config {
	p.upstreams.mu.Lock()
	defer p.upstreams.mu.Unlock()
	for r, up := range p.upstreams.made {
		if up.name == name && !r.own {
			cfg := rest.CopyConfig(up.config)
			cfg.DisableCompression = false
			return cfg
		}
	}
	return nil
}
