// SPDX-License-Identifier: Apache-2.0

package watch

import "k8s.io/apimachinery/pkg/runtime/schema"

// DefaultExclude returns the resources that are never watched: those with constant churn, those computed on request,
// our own, and IPAddresses: each is the API server's record of the address of a Service. Events are watched
// separately.
func DefaultExclude() []schema.GroupResource {
	return []schema.GroupResource{
		{Resource: "bindings"},
		{Resource: "componentstatuses"},
		{Resource: "endpoints"},
		{Group: "coordination.k8s.io"},
		{Group: "storage.k8s.io", Resource: "csistoragecapacities"},
		{Group: "networking.k8s.io", Resource: "ipaddresses"},
		{Group: "internal.apiserver.k8s.io"},
		{Group: "metrics.k8s.io"},
		{Group: "custom.metrics.k8s.io"},
		{Group: "external.metrics.k8s.io"},
		{Group: "packages.operators.coreos.com"},
		{Group: own},
	}
}

// own is the API group of Lifeline itself. Its objects are the traces: each look would make new ones of them, which no
// relation may cause.
const own = "lifeline.dev"

// excluded holds excluded resources. The value is true for those excluded by DefaultExclude alone.
// An empty Resource means its whole group.
type excluded map[schema.GroupResource]bool

func newExcluded(more []schema.GroupResource) excluded {
	e := excluded{}
	for _, gr := range DefaultExclude() {
		e[gr] = true
	}
	for _, gr := range more {
		e[gr] = false
	}
	return e
}

// has reports whether a resource is excluded. A resource of a declared relation is so by the user
// only.
func (e excluded) has(gr schema.GroupResource, related bool) bool {
	if gr.Group == own {
		return true
	}
	for _, gr := range []schema.GroupResource{gr, {Group: gr.Group}} {
		if byDefault, found := e[gr]; found && !(byDefault && related) {
			return true
		}
	}
	return false
}
