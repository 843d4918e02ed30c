// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Build is as in controller-runtime.
func (b *Builder) Build(r reconcile.Reconciler) (controller.Controller, error) {
	var kind schema.GroupVersionKind
	if b.primary != nil {
		// An object that the scheme does not know is the inner builder's to refuse.
		kind, _ = apiutil.GVKForObject(b.primary, b.manager.GetScheme())
	}
	if b.name == "" {
		b.name = strings.ToLower(kind.Kind)
	}
	for _, watch := range b.pending {
		watch(b.inner, kind)
	}
	b.pending = nil
	if b.kit != nil && r != nil {
		q := &tracedQueue{kit: b.kit}
		usePriority := b.options.UsePriorityQueue
		if usePriority == nil {
			usePriority = b.manager.GetControllerOptions().UsePriorityQueue
		}
		b.options.NewQueue = q.wrap(b.options, usePriority)
		r = &reconciler{kit: b.kit, inner: r, name: b.name, span: b.name + " reconcile", kind: kind, wait: q.wait}
	}
	b.inner.WithOptions(b.options)
	if b.log != nil {
		b.inner.WithLogConstructor(b.log)
	}
	return b.inner.Build(r)
}
