// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// PersistentVolumeClaim is the kind PersistentVolumeClaim. Binding fills in the volume.
var PersistentVolumeClaim = Kind{
	Kind:       object.Kind{Version: "v1", Kind: "PersistentVolumeClaim"},
	Resource:   "persistentvolumeclaims",
	Short:      "pvc",
	Controller: "persistentvolume-binder",
	Filled:     []string{"spec.volumeName"},
	Shown:      []string{"spec.resources", "spec.storageClassName"},
	Relations: []Relation{
		{object.Volume, "spec.volumeName", &PersistentVolume},
		{object.Class, "spec.storageClassName", &StorageClass},
	},
	Attributes: "k8s.persistentvolumeclaim.",
}
