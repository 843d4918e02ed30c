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

// form is how objects of a kind are held: a kind may have an informer of each.
type form uint8

const (
	typed form = iota
	untyped
	metadataOnly
)

// informers knows which informers exist, so that what the cluster held before a
// write can be looked up without ever starting one.
type informers struct {
	holders sync.Map // of informerKey to holder
}

// holder is where the objects of one kind are held in memory.
type holder interface {
	// held returns an object, which must not be written to; nil if it is not
	// there.
	held(key client.ObjectKey) client.Object
}

// ownStore is an informer's own.
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

// splitStores are those of a cache that is limited to namespaces: it has an informer
// for each and shows none of their stores.
type splitStores struct {
	cache    cache.Cache
	informer cache.Informer
	like     client.Object
}

func (s splitStores) held(key client.ObjectKey) client.Object {
	if !s.informer.HasSynced() {
		return nil // reading would wait for it
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

// object returns the cached object, which must not be written to, and whether
// it is whole: of a kind with a metadata-only informer only metadata is known.
// nil if there is no informer or no such object.
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

// watchedCache is a cache that tells which informers it has.
type watchedCache struct {
	cache.Cache
	known  *informers
	scheme *runtime.Scheme
}

func (k *Kit) watched(c cache.Cache, scheme *runtime.Scheme) cache.Cache {
	return &watchedCache{Cache: c, known: &k.informers, scheme: scheme}
}

// key returns what obj's informer goes by.
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
		if s := own.GetStore(); s != nil { // a fake one may have none
			c.known.holders.Store(key, ownStore{s})
		}
		return
	}
	if like := blank(obj, key.gvk); like != nil {
		c.known.holders.Store(key, splitStores{cache: c.Cache, informer: informer, like: like})
	}
}

// blank returns an empty object of obj's type and kind; nil if there is none.
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

// Get notes the informer that a read has started.
func (c *watchedCache) Get(
	ctx context.Context,
	key client.ObjectKey,
	obj client.Object,
	opts ...client.GetOption,
) error {
	err := c.Cache.Get(ctx, key, obj, opts...)
	ik, ok := c.key(obj)
	if !ok {
		return err
	}
	if _, known := c.known.holders.Load(ik); !known && client.IgnoreNotFound(err) == nil {
		if informer, gone := c.Cache.GetInformer(ctx, obj, cache.BlockUntilSynced(false)); gone == nil {
			c.note(obj, informer)
		}
	}
	return err
}

// List notes the informer that a read has started.
func (c *watchedCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.Cache.List(ctx, list, opts...); err != nil {
		return err
	}
	item := c.item(list)
	if item == nil {
		return nil
	}
	if key, ok := c.key(item); ok {
		if _, known := c.known.holders.Load(key); !known {
			if informer, err := c.Cache.GetInformer(ctx, item, cache.BlockUntilSynced(false)); err == nil {
				c.note(item, informer)
			}
		}
	}
	return nil
}

// item returns an empty object of what a list is of; nil if that cannot be told.
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

// GetInformer notes the informer.
func (c *watchedCache) GetInformer(
	ctx context.Context,
	obj client.Object,
	opts ...cache.InformerGetOption,
) (cache.Informer, error) {
	informer, err := c.Cache.GetInformer(ctx, obj, opts...)
	if err == nil {
		c.note(obj, informer)
	}
	return informer, err
}

// GetInformerForKind notes the informer.
func (c *watchedCache) GetInformerForKind(
	ctx context.Context,
	gvk schema.GroupVersionKind,
	opts ...cache.InformerGetOption,
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

// RemoveInformer forgets the informer.
func (c *watchedCache) RemoveInformer(ctx context.Context, obj client.Object) error {
	if key, ok := c.key(obj); ok {
		c.known.holders.Delete(key)
	}
	return c.Cache.RemoveInformer(ctx, obj)
}
