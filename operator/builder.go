// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Builder is controller-runtime's builder with the kit in what it builds.
type Builder struct {
	inner   *builder.Builder
	manager manager.Manager
	kit     *Kit // nil: the manager has none, and this is the inner builder
	primary client.Object
	name    string
	options controller.Options
	// pending are the watches, which need the primary's kind to be made.
	pending []func(b *builder.Builder, kind schema.GroupVersionKind)
}

// NewControllerManagedBy is controller-runtime's function of that name. With a
// manager that NewManager made, the controller's reconciles, waits and triggers
// are traced, and writes that change only a context wake nobody. How long
// requests wait in a queue of the user's own (NewQueue) is not known.
func NewControllerManagedBy(m manager.Manager) *Builder {
	return &Builder{inner: builder.ControllerManagedBy(m), manager: m, kit: kitOf(m)}
}

// For is as in controller-runtime.
func (b *Builder) For(obj client.Object, opts ...builder.ForOption) *Builder {
	b.primary = obj
	b.pending = append(b.pending, func(in *builder.Builder, _ schema.GroupVersionKind) {
		if b.kit != nil {
			opts = append(
				slices.Clip(opts),
				builder.WithPredicates(Predicate(), b.witness(func(o client.Object) []reconcile.Request {
					return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
				})),
			)
		}
		in.For(obj, opts...)
	})
	return b
}

// Owns is as in controller-runtime.
func (b *Builder) Owns(obj client.Object, opts ...builder.OwnsOption) *Builder {
	b.pending = append(b.pending, func(in *builder.Builder, kind schema.GroupVersionKind) {
		if b.kit != nil {
			every := slices.Contains(opts, builder.OwnsOption(builder.MatchEveryOwner))
			opts = append(
				slices.Clip(opts),
				builder.WithPredicates(Predicate(), b.witness(func(o client.Object) []reconcile.Request {
					return ownerRequests(b.manager.GetRESTMapper(), kind, o, every)
				})),
			)
		}
		in.Owns(obj, opts...)
	})
	return b
}

// ownerRequests are the requests for the owners of o that are of the kind: its
// controller, or every one.
func ownerRequests(
	mapper meta.RESTMapper,
	kind schema.GroupVersionKind,
	o client.Object,
	every bool,
) []reconcile.Request {
	var requests []reconcile.Request
	for _, ref := range o.GetOwnerReferences() {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err != nil || gv.Group != kind.Group || ref.Kind != kind.Kind ||
			!every && !ptr.Deref(ref.Controller, false) {
			continue
		}
		req := reconcile.Request{NamespacedName: client.ObjectKey{Name: ref.Name, Namespace: o.GetNamespace()}}
		if mapping, err := mapper.RESTMapping(
			kind.GroupKind(),
			kind.Version,
		); err == nil &&
			mapping.Scope.Name() == meta.RESTScopeNameRoot {
			req.Namespace = ""
		}
		requests = append(requests, req)
	}
	return requests
}

// Watches is as in controller-runtime.
func (b *Builder) Watches(obj client.Object, h handler.EventHandler, opts ...builder.WatchesOption) *Builder {
	b.pending = append(b.pending, func(in *builder.Builder, _ schema.GroupVersionKind) {
		if b.kit != nil {
			opts = append(slices.Clip(opts), builder.WithPredicates(Predicate()))
			h = b.listen(h)
		}
		in.Watches(obj, h, opts...)
	})
	return b
}

// WatchesMetadata is as in controller-runtime.
func (b *Builder) WatchesMetadata(obj client.Object, h handler.EventHandler, opts ...builder.WatchesOption) *Builder {
	b.pending = append(b.pending, func(in *builder.Builder, _ schema.GroupVersionKind) {
		if b.kit != nil {
			opts = append(slices.Clip(opts), builder.WithPredicates(Predicate()))
			h = b.listen(h)
		}
		in.WatchesMetadata(obj, h, opts...)
	})
	return b
}

// WatchesRawSource is as in controller-runtime.
func (b *Builder) WatchesRawSource(src source.TypedSource[reconcile.Request]) *Builder {
	b.inner.WatchesRawSource(src)
	return b
}

// WithEventFilter is as in controller-runtime.
func (b *Builder) WithEventFilter(p predicate.Predicate) *Builder {
	b.inner.WithEventFilter(p)
	return b
}

// WithOptions is as in controller-runtime.
func (b *Builder) WithOptions(o controller.Options) *Builder {
	b.options = o
	return b
}

// WithLogConstructor is as in controller-runtime.
func (b *Builder) WithLogConstructor(log func(*reconcile.Request) logr.Logger) *Builder {
	b.options.LogConstructor = log
	return b
}

// Named is as in controller-runtime.
func (b *Builder) Named(name string) *Builder {
	b.name = name
	b.inner.Named(name)
	return b
}

// Complete is as in controller-runtime.
func (b *Builder) Complete(r reconcile.Reconciler) error {
	_, err := b.Build(r)
	return err
}
