// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// ControllerRevision is the kind ControllerRevision.apps. It is one template of a DaemonSet or a
// StatefulSet.
var ControllerRevision = Kind{
	Kind:       object.Kind{Group: "apps", Version: "v1", Kind: "ControllerRevision"},
	Resource:   "controllerrevisions",
	Controller: "daemonset-controller",
}
