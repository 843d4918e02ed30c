// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// lastApplied is the annotation with the whole object as kubectl sent it.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// relate adds the keys of the object in the relations of the configuration. A key is a digest under
// the Normalizer's key, so it reveals none of the compared values.
func (n *Normalizer) relate(all []object.Relation, of schema.GroupKind, obj fields) []object.Relation {
	if !n.Relations.Has(of) {
		return all
	}
	keys := n.Relations.Keys(of, visible(of, obj))
	if len(keys) == 0 {
		return all
	}
	d := n.digest()
	defer digests.Put(d)
	for _, key := range keys {
		d.word('k', uint64(len(key.Values)))
		for _, v := range key.Values {
			d.value(v)
		}
		side := object.Effect
		if key.Cause {
			side = object.Cause
		}
		to := object.DeclaredName(key.Relation, fmt.Sprintf("%016x", d.sum()))
		all = append(all, object.Relation{Type: side, To: to})
	}
	return inOrder(all)
}

// visible returns the part of an object that expressions may read. Of a kind with confidential
// content that is only the metadata. managedFields and the copy of the object in an annotation are
// left out.
func visible(of schema.GroupKind, obj fields) fields {
	out := fields{"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
	if !kind.Of(of.Group, of.Kind).MetadataOnly {
		out = maps.Clone(obj)
	}
	meta := maps.Clone(sub(obj, "metadata"))
	delete(meta, "managedFields")
	if annotations := sub(meta, "annotations"); annotations[lastApplied] != nil {
		annotations = maps.Clone(annotations)
		delete(annotations, lastApplied)
		meta["annotations"] = annotations
	}
	out["metadata"] = meta
	return out
}

// described returns the metadata of an object in the form of the API's JSON.
func described(of object.Kind, m *metav1.PartialObjectMetadata) fields {
	meta := fields{
		"name": m.Name, "uid": string(m.UID), "creationTimestamp": m.CreationTimestamp.UTC().Format(time.RFC3339),
	}
	for key, value := range map[string]string{"namespace": m.Namespace, "generateName": m.GenerateName} {
		if value != "" {
			meta[key] = value
		}
	}
	for key, texts := range map[string]map[string]string{"labels": m.Labels, "annotations": m.Annotations} {
		if len(texts) == 0 {
			continue
		}
		all := fields{}
		for name, text := range texts {
			all[name] = text
		}
		meta[key] = all
	}
	var owners []any
	for _, ref := range m.OwnerReferences[:min(len(m.OwnerReferences), maxItems)] {
		owners = append(owners, fields{
			"apiVersion": ref.APIVersion, "kind": ref.Kind, "name": ref.Name, "uid": string(ref.UID),
			"controller": ref.Controller != nil && *ref.Controller,
		})
	}
	if owners != nil {
		meta["ownerReferences"] = owners
	}
	version := schema.GroupVersion{Group: of.Group, Version: of.Version}.String()
	return fields{"apiVersion": version, "kind": of.Kind, "metadata": meta}
}
