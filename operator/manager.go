// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"strings"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kube-lifeline/lifeline/operator/transport"
)

// NewManager is controller-runtime's NewManager with a Kit. The manager's client writes contexts
// and makes spans, and its requests carry the contexts. NewControllerManagedBy and Webhook get the
// Kit from the manager.
func NewManager(cfg *rest.Config, o manager.Options, opts ...Option) (manager.Manager, error) {
	k := New(opts...)
	m, err := manager.New(k.Config(cfg), k.Options(o))
	if err != nil {
		return nil, err
	}
	return &tracedManager{m, &tracedReader{m.GetAPIReader(), k, m.GetScheme()}}, nil
}

// tracedManager is a manager with a traced API reader.
type tracedManager struct {
	manager.Manager
	reader client.Reader
}

// GetAPIReader is like controller-runtime's GetAPIReader.
func (m *tracedManager) GetAPIReader() client.Reader { return m.reader }

// Config returns a copy of cfg for traced clients. Their write requests carry the trace context of
// the request's context.Context.
func (k *Kit) Config(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(transport.Options{Reads: k.reads, Enabled: func() bool { return k.mode() != Off }}.Wrap)
	return cfg
}

// Options returns o with the client and the cache decorated. A NewClient or NewCache in o is
// decorated, not replaced.
func (k *Kit) Options(o manager.Options) manager.Options {
	newClient, newCache := o.NewClient, o.NewCache
	if newClient == nil {
		newClient = client.New
	}
	if newCache == nil {
		newCache = cache.New
	}
	o.NewClient = func(cfg *rest.Config, co client.Options) (client.Client, error) {
		c, err := newClient(cfg, co)
		if err != nil {
			return nil, err
		}
		return &tracedClient{Client: c, kit: k, manager: manages(cfg, co)}, nil
	}
	o.NewCache = func(cfg *rest.Config, co cache.Options) (cache.Cache, error) {
		c, err := newCache(cfg, co)
		if err != nil {
			return nil, err
		}
		k.scheme.Store(co.Scheme)
		return k.watched(c, co.Scheme), nil
	}
	return o
}

// manages returns the field manager of writes that name none. The API server uses the user agent up
// to the first slash.
func manages(cfg *rest.Config, o client.Options) string {
	if o.FieldOwner != "" {
		return o.FieldOwner
	}
	agent := cfg.UserAgent
	if agent == "" {
		agent = rest.DefaultKubernetesUserAgent()
	}
	name, _, _ := strings.Cut(agent, "/")
	return name
}

// kitOf returns the Kit of a manager from NewManager; nil for any other manager.
func kitOf(m manager.Manager) *Kit {
	if c, ok := m.GetClient().(*tracedClient); ok {
		return c.kit
	}
	return nil
}
