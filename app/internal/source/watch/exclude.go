// SPDX-License-Identifier: Apache-2.0

package watch

import "k8s.io/apimachinery/pkg/runtime/schema"

// DefaultExclude returns the resources that are never watched: those with constant churn, and those
// computed on request. Events are watched separately.
func DefaultExclude() []schema.GroupResource {
	return []schema.GroupResource{
		{Resource: "bindings"},
		{Resource: "componentstatuses"},
		{Resource: "endpoints"},
		{Group: "coordination.k8s.io"},
		{Group: "discovery.k8s.io", Resource: "endpointslices"},
		{Group: "storage.k8s.io", Resource: "csistoragecapacities"},
		{Group: "internal.apiserver.k8s.io"},
		{Group: "metrics.k8s.io"},
		{Group: "custom.metrics.k8s.io"},
		{Group: "external.metrics.k8s.io"},
		{Group: "packages.operators.coreos.com"},
	}
}

// excluded is a set of resources; an empty Resource means its whole group.
type excluded map[schema.GroupResource]bool

func newExcluded(more []schema.GroupResource) excluded {
	e := excluded{}
	for _, list := range [][]schema.GroupResource{DefaultExclude(), more} {
		for _, gr := range list {
			e[gr] = true
		}
	}
	return e
}

func (e excluded) has(gr schema.GroupResource) bool {
	return e[gr] || e[schema.GroupResource{Group: gr.Group}]
}
