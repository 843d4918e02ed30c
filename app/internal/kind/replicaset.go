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
	Fields:     []string{"spec.replicas", "spec.minReadySeconds"},
	Shown:      []string{"spec.replicas"},
	Progress:   true,
	Attributes: "k8s.replicaset.",
}
