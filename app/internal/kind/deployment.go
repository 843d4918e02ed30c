// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// Deployment is the kind Deployment.apps.
var Deployment = Kind{
	Kind:       object.Kind{Group: "apps", Version: "v1", Kind: "Deployment"},
	Resource:   "deployments",
	Short:      "deploy",
	Controller: "deployment-controller",
	Owner:      true,
	Effects:    []*Kind{&ReplicaSet, &Pod},
	Replicas:   ReplicaCounts,
	Parts:      podFields,
	Shown:      shownOfTemplate("spec.replicas", "spec.paused", "spec.strategy"),
	Progress:   true,
	Relations:  configRelations("spec.template"),
	Attributes: "k8s.deployment.",
}
