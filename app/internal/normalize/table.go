// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/mask"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// maxTables bounds the field tables that a Normalizer keeps, and maxSpec the size of the spec of each.
const (
	maxTables = 256
	maxSpec   = 16 << 10
)

// table is the field table of an object, and the digest of its desired state.
type table struct {
	leaves  []observation.Leaf
	desired uint64
	// words are the values of the object.
	words *mask.Words
	// spec is the spec in the key, which stays in memory as long as the key.
	spec fields
}

// tableKey identifies an object outside its status: by the address of its spec, and by a digest of its
// metadata and its managers.
type tableKey struct {
	spec   uintptr
	digest uint64
}

// table returns the field table of an object. Most versions differ from the one before in their status
// only, and package apiproto returns the same spec for them.
func (n *Normalizer) table(d *digest, s *observation.State, obj fields, owned []managed) table {
	key, isKey := keyOf(d, obj, owned)
	if isKey {
		if t, found := n.tables.Get(key); found {
			return t
		}
	}
	k := kind.Of(s.Group, s.Kind.Kind)
	t := table{spec: sub(obj, "spec")}
	t.leaves = d.leaves(obj, k, n.Shown[schema.GroupKind{Group: s.Group, Kind: s.Kind.Kind}], owned)
	t.desired = d.desired(t.leaves, k)
	t.words = n.wordsOf(schema.GroupKind{Group: s.Group, Kind: s.Kind.Kind}, obj)
	if isKey && sizeOf(t.spec) <= maxSpec {
		n.tables.Put(key, t)
	}
	return t
}

// sizeOf returns the approximate size of a decoded value, as text.
func sizeOf(v any) (size int) {
	switch v := v.(type) {
	case fields:
		for key, each := range v {
			size += len(key) + sizeOf(each)
		}
	case []any:
		for _, each := range v {
			size += sizeOf(each)
		}
	case string:
		size = len(v)
	}
	return size + 8
}

// keyOf returns the key of an object, and false for one without a key: one whose spec is not shared,
// or with fields elsewhere.
func keyOf(d *digest, obj fields, owned []managed) (tableKey, bool) {
	spec, meta := sub(obj, "spec"), sub(obj, "metadata")
	rest := len(obj)
	for _, part := range []string{"apiVersion", "kind", "metadata", "spec", "status"} {
		if _, found := obj[part]; found {
			rest--
		}
	}
	if spec == nil || rest > 0 || len(owned) == 0 || !owned[0].shared {
		return tableKey{}, false
	}
	for _, part := range []string{"labels", "annotations", "finalizers"} {
		d.value(meta[part])
	}
	for i, m := range owned {
		if m.fields != nil {
			d.word('m', uint64(i))
			d.word('v', m.digest)
		}
	}
	return tableKey{reflect.ValueOf(spec).Pointer(), d.sum()}, true
}
