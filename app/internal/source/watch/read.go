// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	selector "k8s.io/apimachinery/pkg/fields"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// page is one page of a list.
type page struct {
	items []metav1.Object
	// version is the list's resourceVersion, next the token of its next page.
	version, next string
}

// listPage reads one page of what the stream watches.
func (s *stream) listPage(ctx context.Context, opts metav1.ListOptions) (page, error) {
	s.selectName(&opts)
	if _, ok := metadataOnly[s.resource.GroupResource()]; ok {
		list, err := s.w.link.metadata.Resource(s.resource).Namespace(s.namespace).List(ctx, opts)
		if err != nil {
			return page{}, err
		}
		p := page{version: list.ResourceVersion, next: list.Continue, items: make([]metav1.Object, len(list.Items))}
		for i := range list.Items {
			p.items[i] = &list.Items[i]
		}
		return p, nil
	}
	list, err := s.w.link.dynamic.Resource(s.resource).Namespace(s.namespace).List(ctx, opts)
	if err != nil {
		return page{}, err
	}
	p := page{version: list.GetResourceVersion(), next: list.GetContinue(), items: make([]metav1.Object, len(list.Items))}
	for i := range list.Items {
		p.items[i] = &list.Items[i]
	}
	return p, nil
}

// open begins a watch.
func (s *stream) open(ctx context.Context, opts metav1.ListOptions) (apiwatch.Interface, error) {
	s.selectName(&opts)
	if _, ok := metadataOnly[s.resource.GroupResource()]; ok {
		return s.w.link.metadata.Resource(s.resource).Namespace(s.namespace).Watch(ctx, opts)
	}
	return s.w.link.dynamic.Resource(s.resource).Namespace(s.namespace).Watch(ctx, opts)
}

func (s *stream) selectName(opts *metav1.ListOptions) {
	if s.name != "" {
		opts.FieldSelector = selector.OneTermEqualSelector("metadata.name", s.name).String()
	}
}

// observe makes an observation of an object, or nil if it has no identity.
func (s *stream) observe(obj metav1.Object) *observation.Observation {
	o := &observation.Observation{Seen: s.w.now(), Source: observation.SourceWatch}
	switch obj := obj.(type) {
	case *metav1.PartialObjectMetadata:
		o.State = NormalizeMetadata(metadataOnly[s.resource.GroupResource()], obj)
	case *unstructured.Unstructured:
		if s.isEvents() {
			o.Event = NormalizeEvent(obj)
		} else {
			o.State = Normalize(obj)
		}
	}
	if o.State == nil && o.Event == nil {
		return nil
	}
	return o
}

func (s *stream) isEvents() bool { return s.resource == events || s.resource == coreEvents }
