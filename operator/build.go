// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Build is like controller-runtime's Build.
func (b *Builder) Build(r reconcile.Reconciler) (controller.Controller, error) {
	var kind schema.GroupVersionKind
	if b.primary != nil {
		// For a type that is not in the scheme, the inner builder returns the error.
		kind, _ = apiutil.GVKForObject(b.primary, b.manager.GetScheme())
	}
	if b.name == "" {
		b.name = strings.ToLower(kind.Kind)
	}
	for _, watch := range b.pending {
		watch(b.inner, kind)
	}
	b.pending = nil
	o := b.options
	if b.kit != nil {
		r = b.decorate(&o, kind, r)
	}
	b.inner.WithOptions(o)
	return b.inner.Build(r)
}

// decorate returns r with tracing. It decorates a reconciler in the options in place. With both, or
// neither, the inner builder returns the error.
func (b *Builder) decorate(
	o *controller.Options, kind schema.GroupVersionKind, r reconcile.Reconciler,
) reconcile.Reconciler {
	traced := &reconciler{kit: b.kit, inner: r, name: b.name, span: b.name + " reconcile", kind: kind}
	switch {
	case r == nil && o.Reconciler != nil:
		traced.inner, o.Reconciler = o.Reconciler, traced
	case r != nil && o.Reconciler == nil:
		r = traced
	default:
		return r
	}
	if o.NewQueue == nil {
		q := &tracedQueue{kit: b.kit}
		defaulted := *o
		defaulted.DefaultFromConfig(b.manager.GetControllerOptions())
		o.NewQueue, traced.wait = q.maker(defaulted), q.wait
	}
	return r
}
