// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// network is the reason of a Service, an Ingress, a Gateway or a route.
func network(v *history.Version, _ []*history.Event) Reason {
	switch {
	case kind.Service.Is(v.Kind), kind.Ingress.Is(v.Kind):
		r := waits("the address of a load balancer")
		r.Category = LoadBalancer
		return r
	case v.Group != kind.Gateway.Group:
		return Reason{}
	}
	for _, goal := range []struct {
		typ      string
		category Category
		text     string
	}{
		{"Accepted", NotAccepted, "is not accepted"},
		{"ResolvedRefs", ReferenceMissing, "has references that are not resolved"},
		{"Programmed", NotProgrammed, "is not programmed"},
	} {
		if c := refused(v, goal.typ); c != nil {
			return about(goal.category, goal.text, c)
		}
	}
	return Reason{}
}
