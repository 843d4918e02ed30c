// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"reflect"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// form is the Go representation of objects in an informer. A kind can have one informer per form.
type form uint8

const (
	typed form = iota
	untyped
	metadataOnly
)

// informers holds the existing informers. A lookup of an object before a write then never starts an
// informer.
type informers struct {
	holders sync.Map // of informerKey to holder
}

// holder is the in-memory store of one kind's objects.
type holder interface {
	// held returns an object, which is read-only; nil if it is missing.
	held(key client.ObjectKey) client.Object
}

// ownStore is the store of an informer.
type ownStore struct{ toolscache.Store }

func (s ownStore) held(key client.ObjectKey) client.Object {
	name := key.Name
	if key.Namespace != "" {
		name = key.Namespace + "/" + name
	}
	found, _, err := s.GetByKey(name)
	if err != nil {
		return nil
	}
	obj, _ := found.(client.Object)
	return obj
}

// splitStores reads from a cache that is limited to namespaces. Such a cache has an informer per
// namespace and hides their stores.
type splitStores struct {
	cache    cache.Cache
	informer cache.Informer
	like     client.Object
}

func (s splitStores) held(key client.ObjectKey) client.Object {
	if !s.informer.HasSynced() {
		return nil // reading would block until the sync
	}
	obj, ok := s.like.DeepCopyObject().(client.Object)
	if !ok || s.cache.Get(context.Background(), key, obj, client.UnsafeDisableDeepCopy) != nil {
		return nil
	}
	return obj
}

type informerKey struct {
	gvk  schema.GroupVersionKind
	form form
}

// object returns the cached object, which is read-only, and whether it is complete. A metadata-only
// informer holds only metadata. It returns nil if there is no informer or no such object.
func (i *informers) object(gvk schema.GroupVersionKind, key client.ObjectKey) (obj client.Object, whole bool) {
	for _, f := range [...]form{typed, untyped, metadataOnly} {
		if h, ok := i.holders.Load(informerKey{gvk, f}); ok {
			if obj := h.(holder).held(key); obj != nil {
				return obj, f != metadataOnly
			}
		}
	}
	return nil, false
}

// watchedCache is a cache that records its informers.
type watchedCache struct {
	cache.Cache
	known  *informers
	scheme *runtime.Scheme
}

func (k *Kit) watched(c cache.Cache, scheme *runtime.Scheme) cache.Cache {
	return &watchedCache{Cache: c, known: &k.informers, scheme: scheme}
}

// key returns the key of obj's informer.
func (c *watchedCache) key(obj runtime.Object) (informerKey, bool) {
	gvk, err := apiutil.GVKForObject(obj, c.scheme)
	if err != nil {
		return informerKey{}, false
	}
	return informerKey{gvk, formOf(obj)}, true
}

func formOf(obj runtime.Object) form {
	switch obj.(type) {
	case runtime.Unstructured:
		return untyped
	case *metav1.PartialObjectMetadata:
		return metadataOnly
	}
	return typed
}

func (c *watchedCache) note(obj runtime.Object, informer cache.Informer) {
	key, ok := c.key(obj)
	if !ok {
		return
	}
	if own, ok := informer.(interface{ GetStore() toolscache.Store }); ok {
		if s := own.GetStore(); s != nil { // a fake informer may have none
			c.known.holders.Store(key, ownStore{s})
		}
		return
	}
	if like := blank(obj, key.gvk); like != nil {
		c.known.holders.Store(key, splitStores{cache: c.Cache, informer: informer, like: like})
	}
}

// blank returns an empty object of obj's type and kind; nil if that is impossible.
func blank(obj runtime.Object, gvk schema.GroupVersionKind) client.Object {
	value := reflect.ValueOf(obj)
	if value.Kind() != reflect.Pointer {
		return nil
	}
	like, ok := reflect.New(value.Type().Elem()).Interface().(client.Object)
	if !ok {
		return nil
	}
	if formOf(obj) != typed {
		like.GetObjectKind().SetGroupVersionKind(gvk)
	}
	return like
}

// Get reads an object and records the informer that the read started.
func (c *watchedCache) Get(
	ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption,
) error {
	err := c.Cache.Get(ctx, key, obj, opts...)
	if client.IgnoreNotFound(err) == nil {
		c.started(ctx, obj)
	}
	return err
}

// started records the informer of obj, which a read has started.
func (c *watchedCache) started(ctx context.Context, obj client.Object) {
	key, ok := c.key(obj)
	if !ok {
		return
	}
	if _, known := c.known.holders.Load(key); known {
		return
	}
	if informer, err := c.Cache.GetInformer(ctx, obj, cache.BlockUntilSynced(false)); err == nil {
		c.note(obj, informer)
	}
}

// List reads objects and records the informer that the read started.
func (c *watchedCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.Cache.List(ctx, list, opts...); err != nil {
		return err
	}
	if item := c.item(list); item != nil {
		c.started(ctx, item)
	}
	return nil
}

// item returns an empty object of a list's item type; nil if the type is unknown.
func (c *watchedCache) item(list client.ObjectList) client.Object {
	gvk, err := apiutil.GVKForObject(list, c.scheme)
	if err != nil {
		return nil
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	switch list.(type) {
	case runtime.Unstructured:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		return u
	case *metav1.PartialObjectMetadataList:
		p := &metav1.PartialObjectMetadata{}
		p.SetGroupVersionKind(gvk)
		return p
	}
	obj, err := c.scheme.New(gvk)
	if err != nil {
		return nil
	}
	item, _ := obj.(client.Object)
	return item
}

// GetInformer returns an informer and records it.
func (c *watchedCache) GetInformer(
	ctx context.Context, obj client.Object, opts ...cache.InformerGetOption,
) (cache.Informer, error) {
	informer, err := c.Cache.GetInformer(ctx, obj, opts...)
	if err == nil {
		c.note(obj, informer)
	}
	return informer, err
}

// GetInformerForKind returns an informer and records it.
func (c *watchedCache) GetInformerForKind(
	ctx context.Context, gvk schema.GroupVersionKind, opts ...cache.InformerGetOption,
) (cache.Informer, error) {
	informer, err := c.Cache.GetInformerForKind(ctx, gvk, opts...)
	if err == nil {
		obj, unknown := c.scheme.New(gvk)
		if unknown != nil {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(gvk)
			obj = u
		}
		c.note(obj, informer)
	}
	return informer, err
}

// RemoveInformer removes an informer and its record.
func (c *watchedCache) RemoveInformer(ctx context.Context, obj client.Object) error {
	if key, ok := c.key(obj); ok {
		c.known.holders.Delete(key)
	}
	return c.Cache.RemoveInformer(ctx, obj)
}
