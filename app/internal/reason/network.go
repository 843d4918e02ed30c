// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"cmp"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
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
	var ready []*history.Version
	for _, o := range owned {
		if o.Endpoints == nil {
			continue
		}
		if o.Endpoints.Ready != "" {
			ready = append(ready, o)
		}
		slices++
		pods = pods || o.Field("endpoints") != nil
	}
	switch {
	case slices == 0 || selector == "":
		return Reason{}
	case len(ready) > 0:
		return unreached(v, ready)
	case pods:
		return Reason{
			Category: EndpointsUnready, For: "a ready Pod",
			Text: "has no ready endpoint: none of the Pods with " + selector + " is ready",
		}
	}
	return Reason{
		Category: NoEndpoints, Text: "has no endpoint: no Pod has " + selector, For: "a Pod with " + selector,
		Fields: []Field{{Path: "spec.selector", Changed: true}},
	}
}

// unreached is the reason of a Service with a named port that no ready Pod has. ready are its EndpointSlices with
// ready Pods. A Pod without the port is in a slice without it.
func unreached(v *history.Version, ready []*history.Version) Reason {
	for _, p := range portsOf(leavesOf(v)) {
		if p.target == "" || isNumber(p.target) || reached(p.name, ready) {
			continue
		}
		return Reason{
			Category: PortMissing, For: "a Pod with port " + p.target,
			Text: "reaches no Pod at port " + cmp.Or(p.name, p.number) +
				": none of the ready Pods has a port with the name " + p.target,
			Fields: []Field{{Path: "spec.ports"}, {Path: "spec.selector"}},
		}
	}
	return Reason{}
}

// reached reports whether one of the EndpointSlices has the port with that name.
func reached(name string, slices []*history.Version) bool {
	for _, s := range slices {
		for _, l := range leavesOf(s) {
			// An unnamed port is the only one.
			if name == "" && strings.HasPrefix(l.Path, "ports") || l.Path == "ports" ||
				strings.HasPrefix(l.Path, "ports[name="+name+"]") {
				return true
			}
		}
	}
	return false
}

// unaddressed is the note about a Service or an Ingress that works without the address of a load balancer.
func unaddressed(v *history.Version) Reason {
	r := Reason{Category: NoAddress, Note: true, For: "an address"}
	switch {
	case v.ProgressMessage != observation.Unaddressed:
		return Reason{}
	case kind.Service.Is(v.Kind):
		r.Text = "has no load balancer, and is reachable at its external IPs"
	default:
		r.Text = "has no address: no Ingress of its class has one"
	}
	return r
}

// selectorOf returns the selector of a Service in words, or "".
func selectorOf(v *history.Version) string {
	const field = "spec.selector"
	var labels []string
	for _, l := range leavesOf(v) {
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
