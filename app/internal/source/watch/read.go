// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	selector "k8s.io/apimachinery/pkg/fields"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/apiproto"
)

// page is one page of a list.
type page struct {
	items []metav1.Object
	// version is the list's resourceVersion, next its continue token.
	version, next string
}

// listPage reads one page of the stream's resource, or returns errSlow.
func (s *stream) listPage(ctx context.Context, opts metav1.ListOptions) (page, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.w.pace.slow, errSlow)
	defer cancel()
	p, err := s.readPage(ctx, opts)
	if err != nil && errors.Is(context.Cause(ctx), errSlow) {
		return page{}, errSlow
	}
	return p, err
}

func (s *stream) readPage(ctx context.Context, opts metav1.ListOptions) (page, error) {
	s.selectName(&opts)
	if s.kind().MetadataOnly {
		list, err := s.link.metadata.Resource(s.resource).Namespace(s.namespace).List(ctx, opts)
		if err != nil {
			return page{}, err
		}
		p := page{version: list.ResourceVersion, next: list.Continue, items: make([]metav1.Object, len(list.Items))}
		for i := range list.Items {
			p.items[i] = &list.Items[i]
		}
		return p, nil
	}
	list, err := s.client().Resource(s.resource).Namespace(s.namespace).List(ctx, opts)
	if err != nil {
		return page{}, err
	}
	p := page{
		version: list.GetResourceVersion(), next: list.GetContinue(), items: make([]metav1.Object, len(list.Items)),
	}
	for i := range list.Items {
		p.items[i] = &list.Items[i]
	}
	return p, nil
}

// openInTime opens a watch at the stream's version, or returns errSlow. The watch ends with ctx;
// cancel must end ctx.
func (s *stream) openInTime(ctx context.Context, cancel context.CancelCauseFunc) (apiwatch.Interface, error) {
	timer := time.AfterFunc(s.w.pace.slow, func() { cancel(errSlow) })
	defer timer.Stop()
	// Without a timeout, a watch behind a proxy may hang unnoticed.
	timeout := int64(300 + rand.IntN(300)) //nolint:gosec // spreads load
	changes, err := s.open(ctx, metav1.ListOptions{
		ResourceVersion:     s.version,
		AllowWatchBookmarks: true,
		TimeoutSeconds:      &timeout,
	})
	if err != nil && errors.Is(context.Cause(ctx), errSlow) {
		return nil, errSlow
	}
	if asked := askedIn(ctx); err == nil && asked.err != nil {
		changes.Stop()
		return nil, &url.Error{Op: "Get", URL: s.link.conf.Host, Err: asked.err}
	}
	return changes, err
}

func (s *stream) open(ctx context.Context, opts metav1.ListOptions) (apiwatch.Interface, error) {
	s.selectName(&opts)
	if s.kind().MetadataOnly {
		return s.link.metadata.Resource(s.resource).Namespace(s.namespace).Watch(ctx, opts)
	}
	return s.client().Resource(s.resource).Namespace(s.namespace).Watch(ctx, opts)
}

// client returns the client for the stream's objects.
func (s *stream) client() dynamic.Interface {
	if s.binary() {
		return s.link.binary
	}
	return s.link.dynamic
}

// binary reports whether the stream asks for objects in protobuf.
func (s *stream) binary() bool {
	return !s.jsonOnly && !s.kind().MetadataOnly && apiproto.Has(s.resource.GroupVersion())
}

// kind is the known kind of the stream's objects, or the zero Kind.
func (s *stream) kind() *kind.Kind { return kind.OfResource(s.resource.Group, s.resource.Resource) }

func (s *stream) selectName(opts *metav1.ListOptions) {
	if s.name != "" {
		opts.FieldSelector = selector.OneTermEqualSelector("metadata.name", s.name).String()
	}
}

// observe returns an observation of an object that arrived at that time, or nil if the object has no
// identity.
func (s *stream) observe(obj metav1.Object, at time.Time) *observation.Observation {
	o := &observation.Observation{Seen: at, Source: observation.SourceWatch}
	switch obj := obj.(type) {
	case *metav1.PartialObjectMetadata:
		o.State = s.w.normalizer.Metadata(s.kind().Kind, obj)
	case *unstructured.Unstructured:
		if s.isEvents() {
			o.Event = s.w.normalizer.Event(obj)
		} else {
			o.State = s.w.normalizer.Object(obj)
		}
	}
	if o.State == nil && o.Event == nil {
		return nil
	}
	s.order(o)
	s.w.impossible.Add(uint64(o.BoundTimes(o.Seen))) //nolint:gosec // a count
	return o
}

func (s *stream) isEvents() bool { return isEvents(s.resource) }
