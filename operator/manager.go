// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kube-lifeline/lifeline/operator/transport"
)

// NewManager is controller-runtime's NewManager with a kit in it: its client
// writes contexts and makes spans, its requests carry them.
// NewControllerManagedBy and Webhook find the kit in the manager.
func NewManager(cfg *rest.Config, o manager.Options, opts ...Option) (manager.Manager, error) {
	k := New(opts...)
	return manager.New(k.Config(cfg), k.Options(o))
}

// Config returns a copy of cfg whose write requests carry the trace context
// that they are made in.
func (k *Kit) Config(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(transport.Options{Reads: k.reads}.Wrap)
	return cfg
}

// Options returns o with the client and the cache decorated; what o sets itself
// is decorated, not replaced.
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
		return k.Client(c), nil
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

// kitOf returns the kit of a manager that NewManager made; nil of any other.
func kitOf(m manager.Manager) *Kit {
	if c, ok := m.GetClient().(*tracedClient); ok {
		return c.kit
	}
	return nil
}
