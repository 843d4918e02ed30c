// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// VolumeAttachment is the kind VolumeAttachment: one volume on one Node.
var VolumeAttachment = Kind{
	Kind:          object.Kind{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttachment"},
	Resource:      "volumeattachments",
	ClusterScoped: true,
	Controller:    "attachdetach-controller",
	Progress:      true,
	Shown:         []string{FieldAttacher, FieldAttachedTo},
	Relations:     []Relation{{object.Volume, "spec.source.persistentVolumeName", &PersistentVolume}},
}

// The fields of a VolumeAttachment with its attacher and its Node.
const (
	FieldAttacher   = "spec.attacher"
	FieldAttachedTo = "spec.nodeName"
)
