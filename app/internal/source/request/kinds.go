// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// maxLearned bounds how many kinds are learned beside Kubernetes' own: names of
// resources are chosen by those who ask for them.
const maxLearned = 10_000

// Kinds knows the kind that a resource's objects are of. It is safe for
// concurrent use.
type Kinds struct {
	mu    sync.RWMutex
	known map[schema.GroupVersionResource]string
	// learned is how many of them are not Kubernetes' own.
	learned int
}

// NewKinds returns Kinds that know Kubernetes' own.
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

// Of returns the kind of a resource's objects, empty if it is not known.
func (k *Kinds) Of(gvr schema.GroupVersionResource) string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.known[gvr]
}

// Learn notes the kind of a resource's objects.
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
