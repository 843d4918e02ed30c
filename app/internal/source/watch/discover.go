// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// discoveryTimeout bounds one discovery.
const discoveryTimeout = 30 * time.Second

// resource is a kind that the API server can list and watch, in its preferred version.
type resource struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
}

// catalogue is the result of the last discovery.
type catalogue struct {
	server    *server
	warnings  *warnings
	asking    sync.Mutex
	mu        sync.Mutex
	asked     time.Time
	resources []resource
	// failed are the API versions that the last discovery could not read, such as those of a broken aggregated API.
	failed map[schema.GroupVersion]error
}

// discover returns the offered resources from a discovery not older than age, without those of failed API
// versions: see warn.
func (c *catalogue) discover(ctx context.Context, age time.Duration) ([]resource, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	if fresh := c.since(age); fresh != nil {
		return fresh, nil
	}
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	link := c.server.link.Load()
	client, err := discovery.NewDiscoveryClientForConfigAndClient(
		link.conf, &http.Client{Transport: within{ctx, link.client.Transport}},
	)
	if err != nil {
		return nil, fmt.Errorf("cannot discover the resources of %s: %w", link.conf.Host, err)
	}
	lists, err := client.ServerPreferredResources()
	var partly *discovery.ErrGroupDiscoveryFailed
	var failed map[schema.GroupVersion]error
	if errors.As(err, &partly) && len(lists) > 0 {
		failed = partly.Groups
	} else if err != nil {
		return nil, fmt.Errorf("cannot discover the resources of %s: %w", link.conf.Host, err)
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.resources, c.failed = time.Now(), all, failed
	return all, nil
}

// warn warns once of each API version that the last discovery could not read, of the wanted groups. A caller warns of
// the groups that it needs: a broken API says nothing about the others.
func (c *catalogue) warn(wanted func(group string) bool) {
	c.mu.Lock()
	failed := maps.Clone(c.failed)
	c.mu.Unlock()
	for gv, cause := range failed {
		if wanted(gv.Group) {
			c.warnings.once("discovery "+gv.String(), "cannot watch the API %s: %v; continuing without it", gv, cause)
		}
	}
}

// warnOfAll is warn for a caller that needs every group.
func (c *catalogue) warnOfAll() { c.warn(func(string) bool { return true }) }

func (c *catalogue) since(age time.Duration) []resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.asked) > age {
		return nil
	}
	return c.resources
}

// kind returns the kind of a resource from the last discovery, or an empty string.
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

// find returns the first resource of the group that matches is. Without a match in the cache, it repeats the
// discovery. It warns if the group could not be read.
func (c *catalogue) find(ctx context.Context, group string, is func(resource) bool) (resource, bool) {
	for _, age := range []time.Duration{time.Hour, time.Second} {
		all, err := c.discover(ctx, age)
		if err != nil {
			if ctx.Err() == nil {
				c.warnings.once("discovery", "%v; continuing without it", err)
			}
			return resource{}, false
		}
		if i := slices.IndexFunc(all, func(r resource) bool { return r.Group == group && is(r) }); i >= 0 {
			return all[i], true
		}
	}
	c.warn(func(failed string) bool { return failed == group })
	return resource{}, false
}

// otherVersion returns another offered version of a resource.
func (c *catalogue) otherVersion(
	ctx context.Context, of schema.GroupVersionResource,
) (other schema.GroupVersionResource, ok bool) {
	all, err := c.discover(ctx, time.Second)
	if err != nil {
		return other, false
	}
	for _, r := range all {
		if r.GroupResource() == of.GroupResource() && r.Version != of.Version {
			return r.GroupVersionResource, true
		}
	}
	return other, false
}

// within binds the requests of a client without contexts to ctx.
type within struct {
	ctx  context.Context
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w within) RoundTrip(r *http.Request) (*http.Response, error) {
	return w.next.RoundTrip(r.WithContext(w.ctx))
}
