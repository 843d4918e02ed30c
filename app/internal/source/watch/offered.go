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
	// Namespaced says that its objects are in namespaces.
	Namespaced bool
}

// Offers returns what a Watcher of that configuration would watch of a whole
// cluster now, sorted by group and name. Of the configuration REST, Exclude and
// Warn count; Warn is told of APIs that do not say what they offer. Nothing is
// watched.
func Offers(ctx context.Context, cfg Config) ([]Offered, error) {
	w, err := New(Config{REST: cfg.REST, Warn: cfg.Warn, Emit: func(*observation.Observation) {}})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	all, err := w.discover(ctx, 0)
	if err != nil {
		return nil, err
	}
	offered := make([]Offered, len(all))
	for i, r := range all {
		offered[i] = Offered{r.GroupResource(), r.namespaced}
	}
	return Select(offered, cfg.Exclude), nil
}

// Select returns, of what is offered, what a Watcher watches that has such a
// Config.Exclude, sorted by group and name and each once. Events are named as
// it watches them, in events.k8s.io.
func Select(offered []Offered, exclude []schema.GroupResource) []Offered {
	out, not := []Offered{}, newExcluded(exclude)
	for _, r := range offered {
		if r.GroupResource == coreEvents.GroupResource() {
			r.GroupResource = events.GroupResource()
		}
		if !not.has(r.GroupResource) {
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
