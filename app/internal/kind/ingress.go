// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// Ingress is the kind Ingress.networking.k8s.io.
var Ingress = Kind{
	Kind:     object.Kind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	Resource: "ingresses",
	Short:    "ing",
	Progress: true,
	Shown:    []string{"spec.ingressClassName"},
	Relations: []Relation{
		{object.Backend, "spec.defaultBackend.service.name", &Service},
		{object.Backend, "spec.rules[].http.paths[].backend.service.name", &Service},
	},
}
