// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline/operator/queue"
)

// Exports for external tests.

// Memory limits.
const (
	MaxTriggers  = maxTriggers
	MaxTriggered = maxTriggered
	MaxHeld      = maxHeld
	Remembered   = remembered
)

// HaveInformer registers an informer of a Go type.
func (k *Kit) HaveInformer(gvk schema.GroupVersionKind, store toolscache.Store) {
	k.informers.holders.Store(informerKey{gvk, typed}, ownStore{store})
}

// Reconciler decorates r like Build.
func (k *Kit) Reconciler(
	name string, kind schema.GroupVersionKind, r reconcile.Reconciler, wait func(reconcile.Request) (queue.Wait, bool),
) reconcile.Reconciler {
	return &reconciler{kit: k, inner: r, name: name, span: name + " reconcile", kind: kind, wait: wait}
}

// Trigger records obj as the cause of a reconcile request.
func (k *Kit) Trigger(controller string, req reconcile.Request, obj client.Object) {
	k.trigger(controller, req, obj, true)
}

// Counts returns the number of stored triggers, writes and episodes.
func (k *Kit) Counts() (triggers, writes, episodes int) {
	return k.triggers.waiting.Len(), k.writes.last.Len(), k.episodes.open.Len()
}

// Episode reports whether an episode of an object is open for controller head.
func (k *Kit) Episode(uid types.UID) bool {
	_, open := k.episodes.of("head reconcile/" + uid)
	return open
}

// Watched decorates a cache so that the kit records its informers.
func (k *Kit) Watched(c cache.Cache, scheme *runtime.Scheme) cache.Cache { return k.watched(c, scheme) }
