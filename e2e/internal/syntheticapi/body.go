// SPDX-License-Identifier: Apache-2.0

package syntheticapi

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// templated is a body from a template.
type templated struct {
	template *template
	values   *values
}

func (b *templated) json(dst []byte, rv uint64) []byte {
	return b.template.appendJSON(dst, b.values, rv)
}
func (b *templated) proto(dst []byte, rv uint64) []byte {
	return b.template.appendProto(dst, b.values, rv)
}

// object is an object of k8s.io/api with its metadata.
type object interface {
	encodable
	metav1.Object
}

// built is a body that is built and encoded at each use. It suits objects of variable size.
type built struct {
	build func() object
}

func (b *built) versioned(rv uint64) object {
	o := b.build()
	o.SetResourceVersion(strconv.FormatUint(rv, 10))
	return o
}

func (b *built) json(dst []byte, rv uint64) []byte { return append(dst, mustJSON(b.versioned(rv))...) }

func (b *built) proto(dst []byte, rv uint64) []byte {
	return append(dst, mustProto(b.versioned(rv))...)
}

// metadata appends only the metadata of the object.
func (b *built) metadata(dst []byte, f format, rv uint64) []byte {
	o := b.versioned(rv)
	only := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: o.GetName(), Namespace: o.GetNamespace(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
		CreationTimestamp: o.GetCreationTimestamp(), Labels: o.GetLabels(), ManagedFields: o.GetManagedFields(),
	}}
	if f.proto {
		return append(dst, mustProto(&only)...)
	}
	return append(dst, mustJSON(only)...)
}
