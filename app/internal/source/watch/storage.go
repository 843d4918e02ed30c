// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// storage is where a resource is stored.
type storage uint8

const (
	// unknownStorage counts as clusterStorage until it is known.
	unknownStorage storage = iota
	// clusterStorage is shared by most resources.
	clusterStorage
	// separateStorage has resourceVersions of its own.
	separateStorage
)

// storages separates the resources of the cluster's storage from those of other storages: aggregated
// APIs, and Events in large clusters. The resourceVersions of two storages cannot be compared.
type storages struct {
	// reached is the highest observed resourceVersion of the cluster's storage. placed is the last place
	// of an object in another one.
	reached, placed atomic.Uint64

	mu sync.Mutex
	// separate holds the resources that were checked: whether they are in another storage.
	separate map[schema.GroupResource]bool
	// aggregated holds the API groups, and whether another API server serves them. unreadable means
	// that APIServices cannot be read.
	aggregated map[string]bool
	unreadable bool
}

// resume starts at the positions of an earlier Watcher.
func (s *storages) resume(from []Position) {
	for _, p := range from {
		if slices.Contains(builtInGroups, p.Resource.Group) && !isEvents(p.Resource) {
			if n, err := strconv.ParseUint(p.Version, 10, 64); err == nil {
				s.reach(n)
			}
		}
	}
}

// errNoAPIServices means that APIServices cannot be read.
var errNoAPIServices = errors.New("cannot read APIServices")

// readable returns errNoAPIServices for an error that denies APIServices, and err otherwise.
func readable(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %w", errNoAPIServices, err)
	}
	return err
}

// reach records a resourceVersion of the cluster's storage.
func (s *storages) reach(version uint64) {
	for {
		known := s.reached.Load()
		if version <= known || s.reached.CompareAndSwap(known, version) {
			return
		}
	}
}

// find finds out whether a resource is in another storage. APIServices that cannot be read leave it in
// the cluster's storage.
func (s *storages) find(ctx context.Context, r *reader) (storage, error) {
	separate, err := s.isSeparate(ctx, r)
	switch {
	case errors.Is(err, errNoAPIServices):
		s.mu.Lock()
		s.unreadable = true
		s.mu.Unlock()
		return clusterStorage, nil
	case err != nil:
		return unknownStorage, err
	case separate:
		return separateStorage, nil
	}
	return clusterStorage, nil
}

func (s *storages) isSeparate(ctx context.Context, r *reader) (bool, error) {
	gr := r.resource.GroupResource()
	s.mu.Lock()
	separate, known := s.separate[gr]
	unreadable := s.unreadable
	s.mu.Unlock()
	if known || unreadable || slices.Contains(builtInGroups, gr.Group) && !isEvents(r.resource) {
		return separate, nil
	}
	if !isEvents(r.resource) {
		if aggregated, err := s.isAggregated(ctx, r); err != nil || !aggregated {
			return false, err
		}
	}
	separate, err := s.disagrees(ctx, r)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.separate == nil {
		s.separate = map[schema.GroupResource]bool{}
	}
	s.separate[gr] = separate
	return separate, nil
}

// isAggregated reports whether another API server serves the resource's API group.
func (s *storages) isAggregated(ctx context.Context, r *reader) (bool, error) {
	s.mu.Lock()
	aggregated, known := s.aggregated[r.resource.Group]
	s.mu.Unlock()
	if known {
		return aggregated, nil
	}
	list, err := r.link.dynamic.Resource(kind.APIService.GroupVersionResource()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, readable(err)
	}
	groups := map[string]bool{r.resource.Group: false}
	for i := range list.Items {
		group, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "group")
		_, served, _ := unstructured.NestedMap(list.Items[i].Object, "spec", "service")
		groups[group] = groups[group] || served
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aggregated = groups
	return groups[r.resource.Group], nil
}

// disagrees reports whether the present version of the resource's storage lies outside two versions
// of the cluster's storage, from before and after.
func (s *storages) disagrees(ctx context.Context, r *reader) (bool, error) {
	before, err := s.present(ctx, r.link)
	if err != nil {
		return false, err
	}
	p, err := r.page(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return false, err
	}
	after, err := s.present(ctx, r.link)
	if err != nil {
		return false, err
	}
	version, err := strconv.ParseUint(p.version, 10, 64)
	return err == nil && (version < before || version > after), nil
}

// present returns the present version of the cluster's storage.
func (s *storages) present(ctx context.Context, over *link) (uint64, error) {
	list, err := over.metadata.Resource(kind.APIService.GroupVersionResource()).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, readable(err)
	}
	version, err := strconv.ParseUint(list.ResourceVersion, 10, 64)
	if err != nil {
		return 0, err
	}
	s.reach(version)
	return version, nil
}

// order places a version of another storage after all observed versions of the cluster's storage, and
// after the places before it.
func (s *storages) order(o *observation.Observation, in storage) {
	switch {
	case in == separateStorage && o.State != nil:
		o.State.Order = s.place()
	case in == separateStorage:
		o.Event.Order = s.reached.Load() + 1 // timestamps order Events
	case o.State != nil:
		s.reach(o.State.ResourceVersion)
	case o.Event != nil:
		s.reach(o.Event.ResourceVersion)
	}
}

// place returns the next place.
func (s *storages) place() uint64 {
	for {
		last := s.placed.Load()
		next := max(last, s.reached.Load()) + 1
		if s.placed.CompareAndSwap(last, next) {
			return next
		}
	}
}

func isEvents(r schema.GroupVersionResource) bool { return r == events || r == coreEvents }
