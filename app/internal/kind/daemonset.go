// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// DaemonSet is the kind DaemonSet.apps.
var DaemonSet = Kind{
	Kind:       object.Kind{Group: "apps", Version: "v1", Kind: "DaemonSet"},
	Resource:   "daemonsets",
	Short:      "ds",
	Controller: "daemonset-controller",
	Owner:      true,
	Effects:    []*Kind{&Pod, &ControllerRevision},
	Replicas:   NodeCounts,
	Shown:      shownOfTemplate("spec.updateStrategy"),
	Progress:   true,
	Relations:  configRelations("spec.template"),
	Attributes: "k8s.daemonset.",
}
