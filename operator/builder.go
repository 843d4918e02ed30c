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

// Builder is controller-runtime's builder with tracing.
type Builder struct {
	inner   *builder.Builder
	manager manager.Manager
	kit     *Kit // nil if the manager has none; then inner is unchanged
	primary client.Object
	name    string
	options controller.Options
	// pending are the watches. Building them requires the kind of the primary object.
	pending []func(b *builder.Builder, kind schema.GroupVersionKind)
}

// NewControllerManagedBy replaces controller-runtime's function of the same name. If NewManager
// made the manager, the controller's reconciles, queue waits and triggers are traced. Events with
// only a context change then cause no reconcile. With a custom NewQueue, queue waits are unknown.
func NewControllerManagedBy(m manager.Manager) *Builder {
	return &Builder{inner: builder.ControllerManagedBy(m), manager: m, kit: kitOf(m)}
}

// For is like controller-runtime's For.
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

// Owns is like controller-runtime's Owns.
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

// ownerRequests returns requests for the owners of o that have the given kind: the controller, or
// with every all owners.
func ownerRequests(
	mapper meta.RESTMapper, kind schema.GroupVersionKind, o client.Object, every bool,
) []reconcile.Request {
	var requests []reconcile.Request
	for _, ref := range o.GetOwnerReferences() {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err != nil || gv.Group != kind.Group || ref.Kind != kind.Kind ||
			!every && !ptr.Deref(ref.Controller, false) {
			continue
		}
		req := reconcile.Request{NamespacedName: client.ObjectKey{Name: ref.Name, Namespace: o.GetNamespace()}}
		if mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); err == nil &&
			mapping.Scope.Name() == meta.RESTScopeNameRoot {
			req.Namespace = ""
		}
		requests = append(requests, req)
	}
	return requests
}

// Watches is like controller-runtime's Watches.
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

// WatchesMetadata is like controller-runtime's WatchesMetadata.
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

// WatchesRawSource is like controller-runtime's WatchesRawSource.
func (b *Builder) WatchesRawSource(src source.TypedSource[reconcile.Request]) *Builder {
	b.inner.WatchesRawSource(src)
	return b
}

// WithEventFilter is like controller-runtime's WithEventFilter.
func (b *Builder) WithEventFilter(p predicate.Predicate) *Builder {
	b.inner.WithEventFilter(p)
	return b
}

// WithOptions is like controller-runtime's WithOptions.
func (b *Builder) WithOptions(o controller.Options) *Builder {
	b.options = o
	return b
}

// WithLogConstructor is like controller-runtime's WithLogConstructor.
func (b *Builder) WithLogConstructor(log func(*reconcile.Request) logr.Logger) *Builder {
	b.options.LogConstructor = log
	return b
}

// Named is like controller-runtime's Named.
func (b *Builder) Named(name string) *Builder {
	b.name = name
	b.inner.Named(name)
	return b
}

// Complete is like controller-runtime's Complete.
func (b *Builder) Complete(r reconcile.Reconciler) error {
	_, err := b.Build(r)
	return err
}
