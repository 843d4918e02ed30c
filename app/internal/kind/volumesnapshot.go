// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// VolumeSnapshot is the kind VolumeSnapshot of the CSI snapshotter.
var VolumeSnapshot = Kind{
	Kind:     object.Kind{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshot"},
	Resource: "volumesnapshots",
	Short:    "vs",
	Progress: true,
}
