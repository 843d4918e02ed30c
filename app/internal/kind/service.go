// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// Service is the kind Service.
var Service = Kind{
	Kind:       object.Kind{Version: "v1", Kind: "Service"},
	Resource:   "services",
	Short:      "svc",
	Shown:      []string{"spec.type", "spec.ports", "spec.selector"},
	Progress:   true,
	Controller: "service-controller",
	Attributes: "k8s.service.",
}
