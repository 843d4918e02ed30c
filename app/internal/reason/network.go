// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"strings"

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
		c := v.Condition(goal.typ)
		// The API's defaults are Unknown and Pending, until a controller has seen the object.
		if c != nil && (c.Status == "False" || c.Status == "Unknown" && c.Reason == "Pending") {
			return about(goal.category, goal.text, c)
		}
	}
	return Reason{}
}

// endpoints is the reason of a Service with a selector and without a ready endpoint. owned are its
// EndpointSlices; without one, nothing is known.
func endpoints(v *history.Version, owned []*history.Version) Reason {
	if !kind.Service.Is(v.Kind) {
		return Reason{}
	}
	selector := selectorOf(v)
	slices, pods := 0, false
	for _, o := range owned {
		if o.Endpoints == nil {
			continue
		}
		if o.Endpoints.Ready != "" {
			return Reason{}
		}
		slices++
		pods = pods || o.Field("endpoints") != nil
	}
	switch {
	case slices == 0 || selector == "":
		return Reason{}
	case pods:
		return Reason{
			Category: EndpointsUnready, For: "a ready Pod",
			Text: "has no ready endpoint: none of the Pods with " + selector + " is ready",
		}
	}
	return Reason{Category: NoEndpoints, Text: "has no endpoint: no Pod has " + selector, For: "a Pod with " + selector}
}

// selectorOf returns the selector of a Service in words, or "".
func selectorOf(v *history.Version) string {
	const field = "spec.selector"
	var labels []string
	for i := 0; v.Fields != nil && i < len(v.Fields.Leaves); i++ {
		l := &v.Fields.Leaves[i]
		key, found := strings.CutPrefix(l.Path, field)
		if key = strings.TrimPrefix(strings.Trim(key, "[]"), "."); found && key != "" {
			labels = append(labels, key+"="+l.Shown)
		}
	}
	switch len(labels) {
	case 0:
		return ""
	case 1:
		return "the label " + labels[0]
	}
	return "the labels " + strings.Join(labels, ", ")
}
