// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	selector "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/source/apiproto"
)

// page is one page of a list.
type page struct {
	items []metav1.Object
	// version is the list's resourceVersion, next its continue token.
	version, next string
}

// reader makes the requests of one stream.
type reader struct {
	// resource has the version in use.
	resource        schema.GroupVersionResource
	namespace, name string
	link            *link
	pace            *pace
	// values means that ConfigMaps are read as a whole: messages must not show values of their content.
	values bool
	// jsonOnly means that the protobuf of the resource is unreadable.
	jsonOnly bool
}

// page reads one page of the resource, or returns errSlow.
func (r *reader) page(ctx context.Context, opts metav1.ListOptions) (page, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.pace.slow, errSlow)
	defer cancel()
	p, err := r.list(ctx, opts)
	if err != nil && errors.Is(context.Cause(ctx), errSlow) {
		return page{}, errSlow
	}
	return p, err
}

func (r *reader) list(ctx context.Context, opts metav1.ListOptions) (page, error) {
	r.selectName(&opts)
	if r.metadataOnly() {
		list, err := r.link.metadata.Resource(r.resource).Namespace(r.namespace).List(ctx, opts)
		if err != nil {
			return page{}, err
		}
		p := page{version: list.ResourceVersion, next: list.Continue, items: make([]metav1.Object, len(list.Items))}
		for i := range list.Items {
			p.items[i] = &list.Items[i]
		}
		return p, nil
	}
	list, err := r.client().Resource(r.resource).Namespace(r.namespace).List(ctx, opts)
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

// openInTime opens a watch at a version, or returns errSlow. The watch ends with ctx; cancel must end
// ctx.
func (r *reader) openInTime(
	ctx context.Context, cancel context.CancelCauseFunc, version string,
) (apiwatch.Interface, error) {
	timer := time.AfterFunc(r.pace.slow, func() { cancel(errSlow) })
	defer timer.Stop()
	// Without a timeout, a watch behind a proxy may hang unnoticed.
	timeout := int64(300 + rand.IntN(300)) //nolint:gosec // spreads load
	changes, err := r.open(ctx, metav1.ListOptions{
		ResourceVersion:     version,
		AllowWatchBookmarks: true,
		TimeoutSeconds:      &timeout,
	})
	if err != nil && errors.Is(context.Cause(ctx), errSlow) {
		return nil, errSlow
	}
	if asked := askedIn(ctx); err == nil && asked.err != nil {
		changes.Stop()
		return nil, &url.Error{Op: "Get", URL: r.link.conf.Host, Err: asked.err}
	}
	return changes, err
}

func (r *reader) open(ctx context.Context, opts metav1.ListOptions) (apiwatch.Interface, error) {
	r.selectName(&opts)
	if r.metadataOnly() {
		return r.link.metadata.Resource(r.resource).Namespace(r.namespace).Watch(ctx, opts)
	}
	return r.client().Resource(r.resource).Namespace(r.namespace).Watch(ctx, opts)
}

// client returns the client for the objects.
func (r *reader) client() dynamic.Interface {
	if r.isBinary() {
		return r.link.binary
	}
	return r.link.dynamic
}

// isBinary reports whether the requests are for objects in protobuf.
func (r *reader) isBinary() bool {
	return !r.jsonOnly && !r.metadataOnly() && apiproto.Has(r.resource.GroupVersion())
}

// metadataOnly reports whether the objects are read without their content.
func (r *reader) metadataOnly() bool {
	k := r.kind()
	return k.MetadataOnly && (!r.values || k != &kind.ConfigMap)
}

// kind is the known kind of the objects, or the zero Kind.
func (r *reader) kind() *kind.Kind { return kind.OfResource(r.resource.Group, r.resource.Resource) }

func (r *reader) selectName(opts *metav1.ListOptions) {
	if r.name != "" {
		opts.FieldSelector = selector.OneTermEqualSelector("metadata.name", r.name).String()
	}
}

// String returns the name of the watched resource: "deployments.apps in namespace default".
func (r *reader) String() string {
	what := r.resource.GroupResource().String()
	if r.name != "" {
		what += " " + r.name
	}
	if r.namespace != "" {
		what += " in namespace " + r.namespace
	}
	return what
}
