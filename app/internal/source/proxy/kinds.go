// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// kinds knows the kind that a resource's objects are of.
type kinds struct {
	mu    sync.Mutex
	known map[schema.GroupVersionResource]string
}

// newKinds starts with Kubernetes' own kinds.
func newKinds() *kinds {
	k := &kinds{known: map[schema.GroupVersionResource]string{}}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if strings.HasSuffix(gvk.Kind, "List") || strings.HasSuffix(gvk.Kind, "Options") {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		k.known[plural] = gvk.Kind
	}
	return k
}

func (k *kinds) of(gvr schema.GroupVersionResource) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[gvr]
}

func (k *kinds) learn(gvr schema.GroupVersionResource, kind string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[gvr] = kind
}
