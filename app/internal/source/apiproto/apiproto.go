// SPDX-License-Identifier: Apache-2.0

// Package apiproto decodes objects of Kubernetes' own API from protobuf. The result is the map that
// the object's JSON gives. The decoder needs a table of the fields of the object's Go type, but makes
// no value of that type: see docs/performance.md.
package apiproto

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// ErrUnreadable means that a response has a kind or a field without a Go type, such as a field of a
// newer API server, or is damaged. The same response in JSON is readable.
var ErrUnreadable = errors.New("cannot read the protobuf of the API server")

// prefix begins every response. A runtime.Unknown follows it.
var prefix = []byte("k8s\x00")

// Has reports whether kinds of an API group and version have Go types.
func Has(gv schema.GroupVersion) bool { return scheme.Scheme.IsVersionRegistered(gv) }

// Decode decodes a response: an object as *unstructured.Unstructured, a list as
// *unstructured.UnstructuredList, or a *metav1.Status. A fieldsV1 stays JSON text, in a string. The
// result shares no memory with data. It must not be changed: the spec is that of other results, too.
func Decode(data []byte) (runtime.Object, error) {
	obj, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return obj, nil
}

func decode(data []byte) (runtime.Object, error) {
	meta, raw, err := open(data)
	if err != nil {
		return nil, err
	}
	v, err := kinds(meta)
	if err != nil {
		return nil, err
	}
	of := v.(*kind) //nolint:forcetypeassert // kinds returns nothing else
	if of.fields == nil {
		status := &metav1.Status{}
		return status, status.Unmarshal(raw)
	}
	out, err := of.fields.object(raw)
	if err != nil {
		return nil, fmt.Errorf("%v %v: %w", of.apiVersion, of.kind, err)
	}
	out["apiVersion"], out["kind"] = of.apiVersion, of.kind
	if of.item == nil {
		return &unstructured.Unstructured{Object: out}, nil
	}
	items, _ := out["items"].([]any)
	delete(out, "items")
	l := &unstructured.UnstructuredList{Object: out, Items: make([]unstructured.Unstructured, len(items))}
	for i := range items {
		item := items[i].(object) //nolint:forcetypeassert // as in the tables of all lists
		item["apiVersion"], item["kind"] = of.apiVersion, of.item
		l.Items[i].Object = item
	}
	return l, nil
}

// kind is a kind of responses.
type kind struct {
	// apiVersion and kind are strings. item is the kind of the items of a list; nil means no list.
	apiVersion, kind, item any
	// fields are the fields of the kind; nil means a Status.
	fields *table
}

// kinds decodes a runtime.TypeMeta, as *kind.
var kinds = shared(func(b []byte) (any, error) {
	var of runtime.TypeMeta
	if err := of.Unmarshal(b); err != nil {
		return nil, err
	}
	k := &kind{apiVersion: of.APIVersion, kind: of.Kind}
	gvk := of.GroupVersionKind()
	if gvk == statusKind {
		return k, nil
	}
	t := scheme.Scheme.AllKnownTypes()[gvk]
	if t == nil || gvk.Kind == "List" { // a List has objects of any kind
		return nil, fmt.Errorf("unknown kind %v", gvk)
	}
	if item, is := strings.CutSuffix(gvk.Kind, "List"); is {
		k.item = item
	}
	var err error
	k.fields, err = tables.of(t)
	return k, err
})

// isStatus reports whether a response is a Status. It returns false for a damaged response.
func isStatus(data []byte) bool {
	meta, _, err := open(data)
	if err != nil {
		return false
	}
	of, err := kinds(meta)
	return err == nil && of.(*kind).fields == nil //nolint:forcetypeassert // kinds returns nothing else
}

var statusKind = schema.GroupVersionKind{Version: "v1", Kind: "Status"}

// open reads the envelope, a runtime.Unknown: a TypeMeta and a message. Both share memory with data.
func open(data []byte) (meta, raw []byte, err error) {
	data, found := bytes.CutPrefix(data, prefix)
	for found && len(data) > 0 {
		number, wire, n := protowire.ConsumeTag(data)
		if n < 0 || wire != protowire.BytesType {
			return nil, nil, errDamaged
		}
		b, m := protowire.ConsumeBytes(data[n:])
		if m < 0 {
			return nil, nil, errDamaged
		}
		switch number {
		case 1:
			meta = b
		case 2:
			raw = b
		}
		data = data[n+m:]
	}
	if !found || meta == nil {
		return nil, nil, errDamaged
	}
	return meta, raw, nil
}
