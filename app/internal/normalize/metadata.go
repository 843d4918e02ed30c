// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"strconv"

	"github.com/cespare/xxhash/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Metadata is Object for objects read as metadata only, such as Secrets and ConfigMaps.
// Their data is unknown, so every write counts as a change of the desired state.
func Metadata(kind object.Kind, m *metav1.PartialObjectMetadata) *observation.State {
	version, err := strconv.ParseUint(m.ResourceVersion, 10, 64)
	if err != nil || m.UID == "" {
		return nil
	}
	s := &observation.State{
		Ref: object.Ref{
			Kind:      kind,
			Namespace: intern(m.Namespace),
			Name:      object.Bound(m.Name),
			UID:       m.UID,
		},
		ResourceVersion:    version,
		Generation:         m.Generation,
		Desired:            xxhash.Sum64String(m.ResourceVersion),
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
	for _, entry := range m.ManagedFields[:min(len(m.ManagedFields), maxItems)] {
		manager := observation.Manager{
			Name:        intern(entry.Manager),
			Operation:   intern(string(entry.Operation)),
			Subresource: intern(entry.Subresource),
		}
		if entry.Time != nil {
			manager.Time = entry.Time.UTC()
		}
		if entry.FieldsV1 != nil {
			manager.Fields = xxhash.Sum64(entry.FieldsV1.GetRawBytes())
		}
		s.Managers = append(s.Managers, manager)
	}
	carry(s, m, m.GenerateName)
	return s
}
