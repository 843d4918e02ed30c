// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// ReplicationController is the kind ReplicationController.
var ReplicationController = Kind{
	Kind:       object.Kind{Version: "v1", Kind: "ReplicationController"},
	Resource:   "replicationcontrollers",
	Short:      "rc",
	Controller: "replication-controller",
	Effects:    []*Kind{&Pod},
	Shown:      shownOfTemplate("spec.replicas"),
	Attributes: "k8s.replicationcontroller.",
}
