// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	log     func(*reconcile.Request) logr.Logger
	// pending are the watches, which need the primary's kind to be made.
	pending []func(b *builder.Builder, kind schema.GroupVersionKind)
}

// NewControllerManagedBy is controller-runtime's function of that name. With a
// manager that NewManager made, the controller's reconciles, waits and triggers
// are traced, and writes that change only a context wake nobody.
func NewControllerManagedBy(m manager.Manager) *Builder {
	return &Builder{inner: builder.ControllerManagedBy(m), manager: m, kit: kitOf(m)}
}

// For is as in controller-runtime.
func (b *Builder) For(obj client.Object, opts ...builder.ForOption) *Builder {
	b.primary = obj
	b.pending = append(b.pending, func(in *builder.Builder, _ schema.GroupVersionKind) {
		if b.kit != nil {
			opts = append(opts, builder.WithPredicates(Predicate(), b.witness(func(o client.Object) (reconcile.Request, bool) {
				return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}, true
			})))
		}
		in.For(obj, opts...)
	})
	return b
}

// Owns is as in controller-runtime.
func (b *Builder) Owns(obj client.Object, opts ...builder.OwnsOption) *Builder {
	b.pending = append(b.pending, func(in *builder.Builder, kind schema.GroupVersionKind) {
		if b.kit != nil {
			opts = append(opts, builder.WithPredicates(Predicate(), b.witness(func(o client.Object) (reconcile.Request, bool) {
				return ownerRequest(b.manager, kind, o)
			})))
		}
		in.Owns(obj, opts...)
	})
	return b
}

// ownerRequest is the request for the controller owner of o, if that is of the
// kind.
func ownerRequest(m manager.Manager, kind schema.GroupVersionKind, o client.Object) (reconcile.Request, bool) {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil || ref.Kind != kind.Kind {
		return reconcile.Request{}, false
	}
	req := reconcile.Request{NamespacedName: client.ObjectKey{Name: ref.Name, Namespace: o.GetNamespace()}}
	if mapping, err := m.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err == nil && mapping.Scope.Name() == "root" {
		req.Namespace = ""
	}
	return req, true
}

// Watches is as in controller-runtime.
func (b *Builder) Watches(obj client.Object, h handler.EventHandler, opts ...builder.WatchesOption) *Builder {
	b.pending = append(b.pending, func(in *builder.Builder, _ schema.GroupVersionKind) {
		if b.kit != nil {
			opts = append(opts, builder.WithPredicates(Predicate()))
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
			opts = append(opts, builder.WithPredicates(Predicate()))
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
	b.log = log
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
