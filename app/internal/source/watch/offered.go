// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Offered is a resource that an API server offers to list and watch.
type Offered struct {
	schema.GroupResource
	// Kind is the kind of its objects; empty if it is unknown.
	Kind string
	// Namespaced means that its objects are in namespaces.
	Namespaced bool
}

// Offers returns the resources that a Watcher with this configuration would watch in a whole
// cluster now, sorted by group and name. It uses only REST, Exclude, Relations and Warn. Warn receives the API
// groups whose discovery failed. Offers starts no watch.
func Offers(ctx context.Context, cfg Config) ([]Offered, error) {
	w, err := New(Config{REST: cfg.REST, Warn: cfg.Warn, Emit: func(*observation.Observation) {}})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	all, err := w.known.discover(ctx, 0)
	if err != nil {
		return nil, err
	}
	w.known.warnOfAll()
	offered := make([]Offered, len(all))
	for i, r := range all {
		offered[i] = Offered{r.GroupResource(), r.kind, r.namespaced}
	}
	return Select(offered, cfg.Exclude, cfg.Relations.Kinds()), nil
}

// Select returns the offered resources without those excluded by DefaultExclude and exclude.
// DefaultExclude does not apply to the kinds related. The result is sorted by group and name,
// without duplicates. Events appear in events.k8s.io, as a Watcher watches them.
func Select(offered []Offered, exclude []schema.GroupResource, related []schema.GroupKind) []Offered {
	out, not := []Offered{}, newExcluded(exclude)
	for _, r := range offered {
		if r.GroupResource == coreEvents.GroupResource() {
			r.GroupResource = events.GroupResource()
		}
		if !not.has(r.GroupResource, slices.Contains(related, schema.GroupKind{Group: r.Group, Kind: r.Kind})) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Offered) int {
		if c := strings.Compare(a.Group, b.Group); c != 0 {
			return c
		}
		return strings.Compare(a.Resource, b.Resource)
	})
	return slices.Compact(out)
}
