// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// discoveryTimeout bounds one look at what the API server offers.
const discoveryTimeout = 30 * time.Second

// resource is a kind that the API server offers to list and watch, in the
// version that it prefers.
type resource struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
}

// catalogue is what the API server offered when it was last asked.
type catalogue struct {
	asking    sync.Mutex
	mu        sync.Mutex
	asked     time.Time
	resources []resource
	// namespaced tells of every resource that was ever offered.
	namespaced map[schema.GroupResource]bool
}

// discover returns what the API server offers, asked not longer ago than age.
// An API of which no answer is to be had is named once; the rest is returned.
func (w *Watcher) discover(ctx context.Context, age time.Duration) ([]resource, error) {
	w.known.asking.Lock()
	defer w.known.asking.Unlock()
	if fresh := w.known.since(age); fresh != nil {
		return fresh, nil
	}
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	link := w.link.Load()
	client, err := discovery.NewDiscoveryClientForConfigAndClient(link.conf, &http.Client{Transport: within{ctx, link.client.Transport}})
	if err != nil {
		return nil, fmt.Errorf("cannot ask %s for its resources: %w", link.conf.Host, err)
	}
	lists, err := client.ServerPreferredResources()
	var partly *discovery.ErrGroupDiscoveryFailed
	if errors.As(err, &partly) && len(lists) > 0 {
		for gv, cause := range partly.Groups {
			w.warnings.once("discovery "+gv.String(), "cannot watch the API %s: %v; going on without", gv, cause)
		}
	} else if err != nil {
		return nil, fmt.Errorf("cannot ask %s for its resources: %w", link.conf.Host, err)
	}
	var all []resource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") {
				all = append(all, resource{gv.WithResource(r.Name), r.Kind, r.Namespaced})
			}
		}
	}
	w.known.mu.Lock()
	defer w.known.mu.Unlock()
	w.known.asked, w.known.resources = time.Now(), all
	if w.known.namespaced == nil {
		w.known.namespaced = map[schema.GroupResource]bool{}
	}
	for _, r := range all {
		w.known.namespaced[r.GroupResource()] = r.namespaced
	}
	return all, nil
}

// KindOf names the kind of a resource's objects, as the API server told it last;
// empty if it did not.
func (w *Watcher) KindOf(gvr schema.GroupVersionResource) string {
	w.known.mu.Lock()
	defer w.known.mu.Unlock()
	for _, r := range w.known.resources {
		if r.GroupResource() == gvr.GroupResource() {
			return r.kind
		}
	}
	return ""
}

func (c *catalogue) since(age time.Duration) []resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.asked) > age {
		return nil
	}
	return c.resources
}

// kind returns the kind of a resource as last offered, or nothing.
func (c *catalogue) kind(gr schema.GroupResource) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.resources {
		if r.GroupResource() == gr {
			return r.kind
		}
	}
	return ""
}

func (c *catalogue) inNamespaces(gr schema.GroupResource) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.namespaced[gr]
}

// find returns the resource for which is holds, asking the API server anew if
// it was not known.
func (w *Watcher) find(ctx context.Context, is func(resource) bool) (resource, bool) {
	for _, age := range []time.Duration{time.Hour, time.Second} {
		all, err := w.discover(ctx, age)
		if err != nil {
			if ctx.Err() == nil {
				w.warnings.once("discovery", "%v; going on without what it would tell", err)
			}
			return resource{}, false
		}
		if i := slices.IndexFunc(all, is); i >= 0 {
			return all[i], true
		}
	}
	return resource{}, false
}

// otherVersion lets the stream go on in another version of its resource, if
// the one that it used is not offered any more.
func (s *stream) otherVersion(ctx context.Context) bool {
	all, err := s.w.discover(ctx, time.Second)
	if err != nil {
		return false
	}
	for _, r := range all {
		if r.GroupResource() == s.resource.GroupResource() && r.Version != s.resource.Version {
			s.serve(r.GroupVersionResource)
			return true
		}
	}
	return false
}

// within lets a client that takes no context end with one.
type within struct {
	ctx  context.Context
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w within) RoundTrip(r *http.Request) (*http.Response, error) {
	return w.next.RoundTrip(r.WithContext(w.ctx))
}
