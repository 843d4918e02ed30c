// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Metadata is Object for objects read as metadata only, such as Secrets and ConfigMaps.
// Their data is unknown, so every write counts as a change of the desired state, and of the leaf
// PathData. The exception is a stored Helm release: it changes with the progress of the release.
func (n *Normalizer) Metadata(of object.Kind, m *metav1.PartialObjectMetadata) *observation.State {
	return n.metadata(of, m, nil)
}

// Content is Metadata for a whole object. Of its content, only the values that messages must not show are used.
func (n *Normalizer) Content(of object.Kind, u *unstructured.Unstructured) *observation.State {
	m := new(metav1.PartialObjectMetadata)
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields{"metadata": u.Object["metadata"]}, m) != nil {
		return nil
	}
	return n.metadata(of, m, u.Object)
}

func (n *Normalizer) metadata(of object.Kind, m *metav1.PartialObjectMetadata, whole fields) *observation.State {
	version, err := strconv.ParseUint(m.ResourceVersion, 10, 64)
	if err != nil || m.UID == "" {
		return nil
	}
	s := &observation.State{
		Ref: object.Ref{
			Kind:      of,
			Namespace: intern(m.Namespace),
			Name:      object.Bound(m.Name),
			UID:       m.UID,
		},
		ResourceVersion:    version,
		Generation:         m.Generation,
		Reconciled:         m.Generation > 0,
		Created:            m.CreationTimestamp.UTC(),
		ObservedGeneration: -1,
		Progress:           observation.ProgressCurrent,
	}
	if m.DeletionTimestamp != nil {
		s.Deleting = m.DeletionTimestamp.UTC()
		s.Progress = observation.ProgressTerminating
	}
	if m.DeletionGracePeriodSeconds != nil {
		s.GraceSeconds = *m.DeletionGracePeriodSeconds
	}
	for _, finalizer := range m.Finalizers[:min(len(m.Finalizers), maxItems)] {
		s.Finalizers = append(s.Finalizers, intern(finalizer))
	}
	for _, ref := range m.OwnerReferences[:min(len(m.OwnerReferences), maxItems)] {
		s.Owners = append(s.Owners, object.Owner{
			Kind:       kindOf(ref.APIVersion, ref.Kind),
			Name:       intern(ref.Name),
			UID:        types.UID(intern(string(ref.UID))),
			Controller: ref.Controller != nil && *ref.Controller,
		})
	}
	content := contents(m)
	if deliver(s, m); s.Revision != nil {
		withoutRelease(content)
	}
	if gk := (schema.GroupKind{Group: of.Group, Kind: of.Kind}); n.Relations.Has(gk) {
		s.Relations = n.relate(s.Relations, gk, described(of, m))
	}
	if words := n.own(s, content, entries(m.ManagedFields)); words != nil {
		if whole != nil {
			words = n.Memory.Collect(whole, false)
		}
		n.remember(s, nil, words)
	}
	if s.Revision == nil {
		s.Desired = xxhash.Sum64String(m.ResourceVersion)
	}
	carry(s, m, m.GenerateName)
	return s
}

// contents returns the fields of an object that was read as metadata only.
func contents(m *metav1.PartialObjectMetadata) fields {
	labels, annotations := fields{}, fields{}
	for key, value := range m.Labels {
		labels[key] = value
	}
	for key, value := range m.Annotations {
		annotations[key] = value
	}
	var finalizers []any
	for _, f := range m.Finalizers {
		finalizers = append(finalizers, f)
	}
	return fields{
		"metadata":           fields{"labels": labels, "annotations": annotations, "finalizers": finalizers},
		observation.PathData: m.ResourceVersion,
	}
}

// entries decodes managedFields. The owner of any field outside the metadata owns PathData.
func entries(list []metav1.ManagedFieldsEntry) []any {
	var out []any
	for _, entry := range list[:min(len(list), maxItems)] {
		owned := fields{}
		if entry.FieldsV1 != nil {
			_ = json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned) // a malformed entry owns nothing
		}
		for member := range owned {
			if member != "f:metadata" {
				owned["f:"+observation.PathData] = fields{}
				break
			}
		}
		m := fields{
			"manager": entry.Manager, "operation": string(entry.Operation), "subresource": entry.Subresource,
			"fieldsV1": owned,
		}
		if entry.Time != nil {
			m["time"] = entry.Time.UTC().Format(time.RFC3339)
		}
		out = append(out, m)
	}
	return out
}
