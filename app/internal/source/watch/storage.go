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

// findStorage finds out whether the stream's resource is in another storage. APIServices that cannot
// be read leave it in the cluster's storage.
func (s *stream) findStorage(ctx context.Context) error {
	if s.checked {
		return nil
	}
	separate, err := s.isSeparate(ctx)
	if errors.Is(err, errNoAPIServices) {
		s.w.storages.mu.Lock()
		s.w.storages.unreadable = true
		s.w.storages.mu.Unlock()
		err = nil
	}
	if err != nil {
		return err
	}
	s.checked, s.separate = true, separate
	s.inexact = s.inexact || separate
	return nil
}

func (s *stream) isSeparate(ctx context.Context) (bool, error) {
	gr := s.resource.GroupResource()
	all := &s.w.storages
	all.mu.Lock()
	separate, known := all.separate[gr]
	unreadable := all.unreadable
	all.mu.Unlock()
	if known || unreadable || slices.Contains(builtInGroups, gr.Group) && !s.isEvents() {
		return separate, nil
	}
	if !s.isEvents() {
		if aggregated, err := s.isAggregated(ctx); err != nil || !aggregated {
			return false, err
		}
	}
	separate, err := s.disagrees(ctx)
	if err != nil {
		return false, err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.separate == nil {
		all.separate = map[schema.GroupResource]bool{}
	}
	all.separate[gr] = separate
	return separate, nil
}

// isAggregated reports whether another API server serves the stream's API group.
func (s *stream) isAggregated(ctx context.Context) (bool, error) {
	all := &s.w.storages
	all.mu.Lock()
	aggregated, known := all.aggregated[s.resource.Group]
	all.mu.Unlock()
	if known {
		return aggregated, nil
	}
	list, err := s.link.dynamic.Resource(kind.APIService.GroupVersionResource()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, readable(err)
	}
	groups := map[string]bool{s.resource.Group: false}
	for i := range list.Items {
		group, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "group")
		_, served, _ := unstructured.NestedMap(list.Items[i].Object, "spec", "service")
		groups[group] = groups[group] || served
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.aggregated = groups
	return groups[s.resource.Group], nil
}

// disagrees reports whether the present version of the resource's storage lies outside two versions
// of the cluster's storage, from before and after.
func (s *stream) disagrees(ctx context.Context) (bool, error) {
	before, err := s.present(ctx)
	if err != nil {
		return false, err
	}
	p, err := s.listPage(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return false, err
	}
	after, err := s.present(ctx)
	if err != nil {
		return false, err
	}
	version, err := strconv.ParseUint(p.version, 10, 64)
	return err == nil && (version < before || version > after), nil
}

// present returns the present version of the cluster's storage.
func (s *stream) present(ctx context.Context) (uint64, error) {
	list, err := s.link.metadata.Resource(
		kind.APIService.GroupVersionResource(),
	).List(
		ctx,
		metav1.ListOptions{Limit: 1},
	)
	if err != nil {
		return 0, readable(err)
	}
	version, err := strconv.ParseUint(list.ResourceVersion, 10, 64)
	if err != nil {
		return 0, err
	}
	s.w.storages.reach(version)
	return version, nil
}

// order places a version of another storage after all observed versions of the cluster's storage, and
// after the places before it.
func (s *stream) order(o *observation.Observation) {
	switch all := &s.w.storages; {
	case s.separate && o.State != nil:
		o.State.Order = all.place()
	case s.separate:
		o.Event.Order = all.reached.Load() + 1 // timestamps order Events
	case o.State != nil:
		all.reach(o.State.ResourceVersion)
	case o.Event != nil:
		all.reach(o.Event.ResourceVersion)
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
