// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// maxLearned limits the learned kinds, because clients choose the names of resources.
const maxLearned = 10_000

// Kinds maps resources to kinds. It is safe for concurrent use.
type Kinds struct {
	mu    sync.RWMutex
	known map[schema.GroupVersionResource]string
	// learned is the number of kinds outside Kubernetes' own API.
	learned int
}

// NewKinds returns Kinds with the kinds of Kubernetes' own API.
func NewKinds() *Kinds {
	k := &Kinds{known: map[schema.GroupVersionResource]string{}}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if strings.HasSuffix(gvk.Kind, "List") || strings.HasSuffix(gvk.Kind, "Options") {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		k.known[plural] = gvk.Kind
	}
	return k
}

// Of returns the kind of a resource, or "" if unknown.
func (k *Kinds) Of(gvr schema.GroupVersionResource) string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.known[gvr]
}

// Learn records the kind of a resource, up to maxLearned new ones.
func (k *Kinds) Learn(gvr schema.GroupVersionResource, kind string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.known[gvr]; !known {
		if k.learned >= maxLearned {
			return
		}
		k.learned++
	}
	k.known[gvr] = kind
}
