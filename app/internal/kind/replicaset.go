// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// ReplicaSet is the kind ReplicaSet.apps.
var ReplicaSet = Kind{
	Kind:       object.Kind{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	Resource:   "replicasets",
	Short:      "rs",
	Controller: "replicaset-controller",
	Owner:      true,
	Effects:    []*Kind{&Pod},
	Replicas:   ReplicaCounts,
	Parts:      podFields,
	// The images show whether admission changed those of a Pod.
	Fields: []string{
		"spec.replicas", "spec.minReadySeconds", "spec.template.spec.containers.image",
		"spec.template.spec.initContainers.image",
	},
	Shown:      shownOfTemplate("spec.replicas"),
	Progress:   true,
	Attributes: "k8s.replicaset.",
}
