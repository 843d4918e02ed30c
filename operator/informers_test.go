// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// splitInformer is an informer of a cache limited to namespaces. It has no store.
type splitInformer struct {
	cache.Informer
	synced bool
}

func (s splitInformer) HasSynced() bool { return s.synced }

// splitCache holds one ConfigMap.
type splitCache struct {
	informertest.FakeInformers
	informer splitInformer
	held     *corev1.ConfigMap
	reads    int
}

func (c *splitCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return c.informer, nil
}

func (c *splitCache) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	c.reads++
	if key != client.ObjectKeyFromObject(c.held) {
		return context.Canceled
	}
	c.held.DeepCopyInto(obj.(*corev1.ConfigMap))
	return nil
}

func TestInformersOfNamespaces(t *testing.T) {
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u"}}
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	for name, tt := range map[string]struct {
		reason string
		synced bool
		name   string
		found  bool
	}{
		"there":     {"without a store, the object comes from the cache", true, "web", true},
		"not there": {"the cache returns an error", true, "other", false},
		"not yet":   {"reading would block before the sync", false, "web", false},
	} {
		t.Run(name, func(t *testing.T) {
			inner := &splitCache{informer: splitInformer{synced: tt.synced}, held: held}
			k := New()
			c := k.watched(inner, scheme.Scheme)
			if _, err := c.GetInformer(t.Context(), &corev1.ConfigMap{}); err != nil {
				t.Fatal(err)
			}
			got, whole := k.informers.object(gvk, client.ObjectKey{Namespace: "shop", Name: tt.name})
			if (got != nil) != tt.found || whole != tt.found {
				t.Errorf("%s: got %v, whole = %v", tt.reason, got, whole)
			}
			if !tt.synced && inner.reads > 0 {
				t.Errorf("%s: got %d reads", tt.reason, inner.reads)
			}
		})
	}
}
