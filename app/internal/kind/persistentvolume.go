// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// PersistentVolume is the kind PersistentVolume. Binding fills in the claim.
var PersistentVolume = Kind{
	Kind:          object.Kind{Version: "v1", Kind: "PersistentVolume"},
	Resource:      "persistentvolumes",
	Short:         "pv",
	ClusterScoped: true,
	Controller:    "persistentvolume-binder",
	Filled:        []string{"spec.claimRef"},
	Shown:         []string{"spec.capacity", "spec.storageClassName", "spec.persistentVolumeReclaimPolicy"},
	Relations:     []Relation{{object.Claim, "spec.claimRef", nil}},
	Attributes:    "k8s.persistentvolume.",
}
