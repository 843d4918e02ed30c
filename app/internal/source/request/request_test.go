// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestVerbs(t *testing.T) {
	cases := map[string]struct {
		reason                string
		group, resource, sub  string
		stores, evicts, binds bool
	}{
		"object": {reason: "an object is stored", group: "apps", resource: "deployments", stores: true},
		"status": {reason: "a status is stored", group: "apps", resource: "deployments", sub: "status", stores: true},
		"scale": {
			reason:   "scale changes a stored object",
			group:    "apps",
			resource: "deployments",
			sub:      "scale",
			stores:   true,
		},
		"custom": {
			reason:   "custom resources are stored, with any name",
			group:    "example.com",
			resource: "reviews",
			stores:   true,
		},
		"token":   {reason: "a token is not stored", resource: "serviceaccounts", sub: "token"},
		"account": {reason: "the account itself is stored", resource: "serviceaccounts", stores: true},
		"access review": {
			reason:   "a review is not stored",
			group:    "authorization.k8s.io",
			resource: "subjectaccessreviews",
		},
		"token review": {reason: "a review is not stored", group: "authentication.k8s.io", resource: "tokenreviews"},
		"image review": {reason: "a review is not stored", group: "imagepolicy.k8s.io", resource: "imagereviews"},
		"exec":         {reason: "it opens a connection", resource: "pods", sub: "exec"},
		"attach":       {reason: "it opens a connection", resource: "pods", sub: "attach"},
		"port-forward": {reason: "it opens a connection", resource: "pods", sub: "portforward"},
		"proxy": {
			reason:   "the API server stores nothing",
			resource: "services",
			sub:      "proxy",
		},
		"eviction": {
			reason:   "an eviction deletes the Pod",
			resource: "pods",
			sub:      "eviction",
			stores:   true,
			evicts:   true,
		},
		"another's": {
			reason:   "only Pods are evicted",
			group:    "example.com",
			resource: "pods",
			sub:      "eviction",
			stores:   true,
		},
		"binding":     {reason: "the Pod gets a node", resource: "pods", sub: "binding", stores: true, binds: true},
		"old binding": {reason: "the old form of a binding", resource: "bindings", stores: true, binds: true},
		"other binding": {
			reason:   "bindings of another group bind no Pod",
			group:    "rbac.authorization.k8s.io",
			resource: "bindings",
			stores:   true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := schema.GroupResource{Group: tc.group, Resource: tc.resource}
			if stores, evicts, binds := Stores(r, tc.sub), Evicts(r, tc.sub), Binds(
				r,
				tc.sub,
			); stores != tc.stores || evicts != tc.evicts ||
				binds != tc.binds {
				t.Errorf("%s: stores %t, evicts %t, binds %t", tc.reason, stores, evicts, binds)
			}
		})
	}
}

func TestBody(t *testing.T) {
	one := Body{Kind: "Pod", Metadata: Metadata{Name: "a"}}
	cases := map[string]struct {
		reason  string
		body    Body
		objects int
		list    bool
	}{
		"object":   {reason: "the body is the only object", body: one, objects: 1},
		"nameless": {reason: "an object without a name is not counted", body: Body{Kind: "Pod"}},
		"status":   {reason: "a Status is not an object", body: Body{Kind: "Status", Metadata: Metadata{Name: "a"}}},
		"list": {
			reason:  "each item is an object",
			body:    Body{Kind: "PodList", Items: []Body{one, one}},
			objects: 2,
			list:    true,
		},
		"empty list": {reason: "an empty list has no objects", body: Body{Kind: "PodList"}, list: true},
		"table": {
			reason:  "each row is an object",
			body:    Body{Kind: "Table", Items: []Body{one}},
			objects: 1,
			list:    true,
		},
		"bare table": {
			reason: "rows need not have objects",
			body:   Body{Kind: "Table", Metadata: Metadata{Name: "a"}},
			list:   true,
		},
		"like one": {
			reason:  "a kind that ends in List may be an object",
			body:    Body{Kind: "AllowList", Metadata: Metadata{Name: "a"}},
			objects: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, list := len(tc.body.Objects()), tc.body.IsList(); got != tc.objects || list != tc.list {
				t.Errorf("%s: %d objects, IsList %t", tc.reason, got, list)
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	cases := map[string]struct {
		reason  string
		m       Metadata
		version uint64
		remains bool
	}{
		"nothing": {reason: "the request of a create has no version"},
		"version": {
			reason:  "the largest version fits",
			m:       Metadata{ResourceVersion: "18446744073709551615"},
			version: 1<<64 - 1,
		},
		"other": {reason: "another server's version may not be a number", m: Metadata{ResourceVersion: "v7"}},
		"too large": {
			reason: "the version does not fit in uint64",
			m:      Metadata{ResourceVersion: "18446744073709551616"},
		},
		"finalizer": {
			reason:  "a finalizer delays the removal",
			m:       Metadata{Deleting: true, Finalizers: 1},
			remains: true,
		},
		"grace": {
			reason:  "the grace period delays the removal",
			m:       Metadata{Deleting: true, GraceSeconds: 30},
			remains: true,
		},
		"at once": {reason: "nothing delays the removal", m: Metadata{Deleting: true}},
		"alive":   {reason: "the object is not being deleted", m: Metadata{Finalizers: 1, GraceSeconds: 30}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if version, remains := tc.m.Version(), tc.m.Remains(); version != tc.version || remains != tc.remains {
				t.Errorf("%s: version %d, remains %t", tc.reason, version, remains)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	k := NewKinds()
	for name, tc := range map[string]struct {
		gvr  schema.GroupVersionResource
		want string
	}{
		"core": {schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod"},
		"irregular": {
			schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"},
			"NetworkPolicy",
		},
		"plural": {schema.GroupVersionResource{Version: "v1", Resource: "endpoints"}, "Endpoints"},
		"class": {
			schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"},
			"StorageClass",
		},
		"lists":   {schema.GroupVersionResource{Version: "v1", Resource: "podlists"}, ""},
		"options": {schema.GroupVersionResource{Version: "v1", Resource: "deleteoptions"}, ""},
		"custom":  {schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "heads"}, ""},
	} {
		if got := k.Of(tc.gvr); got != tc.want {
			t.Errorf("%s: %v is %q, want %q", name, tc.gvr, got, tc.want)
		}
	}
	heads := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "heads"}
	k.Learn(heads, "Head")
	k.Learn(heads, "Header")
	if got := k.Of(heads); got != "Header" {
		t.Errorf("learned %q, want the last one, %q", got, "Header")
	}
}

// TestKindsAreBounded: the number of learned kinds is limited, and known kinds stay.
func TestKindsAreBounded(t *testing.T) {
	k := NewKinds()
	own := len(k.known)
	gvr := func(i int) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: fmt.Sprintf("things%d", i)}
	}
	var all sync.WaitGroup
	for from := range 4 {
		all.Go(func() {
			for i := range maxLearned {
				k.Learn(gvr(4*i+from), "Thing")
				k.Of(gvr(i))
			}
		})
	}
	all.Wait()
	if got := len(k.known) - own; got != maxLearned {
		t.Errorf("%d kinds were learned, want %d", got, maxLearned)
	}
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	k.Learn(pods, "Pod")
	if got := k.Of(pods); got != "Pod" {
		t.Errorf("the kind of pods is %q, want Pod", got)
	}
}
