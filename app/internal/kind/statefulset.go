// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// StatefulSet is the kind StatefulSet.apps.
var StatefulSet = Kind{
	Kind:       object.Kind{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	Resource:   "statefulsets",
	Short:      "sts",
	Controller: "statefulset-controller",
	Owner:      true,
	Effects:    []*Kind{&Pod, &PersistentVolumeClaim, &ControllerRevision},
	Replicas:   ReplicaCounts,
	Parts:      append(podFields[:len(podFields):len(podFields)], Field{"spec.updateStrategy", Template}),
	Shown:      shownOfTemplate("spec.replicas", "spec.ordinals", "spec.updateStrategy", "spec.podManagementPolicy"),
	Progress:   true,
	Relations:  configRelations("spec.template"),
	Attributes: "k8s.statefulset.",
}
