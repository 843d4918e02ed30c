// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Follow observes a resource in a namespace (empty for a cluster-scoped resource), and every
// resource that can hold the effects of a write to it, Events included.
//
// The state at resourceVersion since is emitted as Baseline, and all later changes as live. So a
// caller with the version before a write misses nothing. If the API server has discarded that
// version, the present state is the Baseline. 0 means the present.
//
// Follow returns at once and is cheap to repeat. A call with an older since restarts from there, so
// duplicates are possible. ctx bounds the watching, not the call.
func (w *Watcher) Follow(ctx context.Context, gvr schema.GroupVersionResource, namespace string, since uint64) {
	w.explorer.startWithEffects(ctx, gvr, namespace, since)
	w.explorer.startEvents(ctx, namespace, since)
}

// Look reads the objects of a resource and watches them, without their Events; only that of the name unless
// it is empty. It waits for the first list, and reports whether the resource is readable. There is no
// warning if it is not.
func (w *Watcher) Look(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string) (bool, error) {
	w.explorer.startFollowed(ctx, plan{resource: gvr, namespace: namespace, name: name, quiet: true})
	if err := w.Synced(ctx); err != nil {
		return false, err
	}
	for _, r := range w.Stats().Resources {
		if r.Resource == gvr.GroupResource() {
			return r.Streams > 0 && r.Unreadable == 0, nil
		}
	}
	return false, nil
}
