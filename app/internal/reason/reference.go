// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Beside are the objects beside another one.
type Beside interface {
	// Lacks reports whether the cluster surely has no object of a name.
	Lacks(name object.Name) bool
	// Of returns the objects of the kind in the namespace, ordered by name.
	Of(k *kind.Kind) []*observation.State
}

// Unresolved returns the reason of an Ingress that names a Service, a port of a Service or an IngressClass that
// does not exist; it is empty for any other object.
func Unresolved(s *observation.State, beside Beside) Reason {
	if s == nil || !kind.Ingress.Is(s.Kind) || !s.Deleting.IsZero() {
		return Reason{}
	}
	var names []object.Name
	for _, l := range s.Leaves {
		if l.Path == "spec.ingressClassName" && l.Shown != "" {
			class := kind.IngressClass.GroupKind()
			names = append(names, object.Name{Group: class.Group, Kind: class.Kind, Name: l.Shown})
		}
	}
	for _, rel := range s.Relations {
		if rel.Type == object.Backend {
			names = append(names, rel.To)
		}
	}
	for _, n := range names {
		if beside.Lacks(n) {
			what := n.Kind + " " + n.Name
			return Reason{
				Category: ReferenceMissing, Text: "names " + what + ", which does not exist", For: what,
			}
		}
	}
	return unservedPort(s, beside.Of(&kind.Service))
}

// unservedPort is the reason of an Ingress that names a port that its Service lacks.
func unservedPort(s *observation.State, services []*observation.State) Reason {
	for _, rel := range s.Relations {
		if rel.Type != object.Port {
			continue
		}
		name, number, _ := strings.Cut(rel.To.Name, ":")
		i := slices.IndexFunc(services, func(o *observation.State) bool { return o.Name == name })
		if i < 0 {
			continue
		}
		ports := portsOf(services[i].Leaves)
		if len(ports) == 0 || slices.ContainsFunc(ports, func(p port) bool { return p.has(number) }) {
			continue
		}
		return Reason{
			Category: PortMissing, For: "port " + number + " of Service " + name, At: services[i].Ref,
			Text: "names port " + number + " of Service " + name + ", which has only " + listed(ports),
			Fields: []Field{
				{Path: "spec.rules"}, {Path: "spec.defaultBackend"}, {Of: services[i].Ref, Path: "spec.ports"},
			},
		}
	}
	return Reason{}
}

// listed names ports: "port 80 (http)", "ports 80 (http), 443".
func listed(ports []port) string {
	var out []string
	for _, p := range ports {
		text := p.number
		if p.name != "" {
			text += " (" + p.name + ")"
		}
		out = append(out, text)
	}
	if len(out) == 1 {
		return "port " + out[0]
	}
	return "ports " + strings.Join(out, ", ")
}

// Blamed completes the reason r of the Service s, which does not work, by the workloads whose Pods it selects.
func Blamed(r Reason, s *observation.State, beside Beside) Reason {
	if s == nil || !kind.Service.Is(s.Kind) {
		return r
	}
	var selected []*observation.State
	for _, k := range []*kind.Kind{&kind.Deployment, &kind.StatefulSet, &kind.DaemonSet, &kind.ReplicaSet} {
		for _, o := range beside.Of(k) {
			if object.ControllerOf(o.Owners) == nil && selects(s, o) {
				selected = append(selected, o)
			}
		}
	}
	switch r.Category {
	case PortMissing:
		for _, o := range selected {
			r.Fields = append(r.Fields, Field{Of: o.Ref, Path: "spec.template.spec.containers.ports"})
		}
	case NoEndpoints:
		return scaledToZero(r, selected)
	}
	return r
}

// scaledToZero returns the reason of a Service without an endpoint whose workloads are scaled to 0, or else r.
func scaledToZero(r Reason, selected []*observation.State) Reason {
	runs := func(o *observation.State) bool {
		return o.Workload == nil || o.Workload.Replicas > 0 || kind.DaemonSet.Is(o.Kind)
	}
	if len(selected) == 0 || slices.ContainsFunc(selected, runs) {
		return r
	}
	var names []string
	r.Fields = nil
	for _, o := range selected {
		names = append(names, o.Kind.Kind+" "+o.Name)
		r.Fields = append(r.Fields, Field{Of: o.Ref, Path: replicas})
	}
	verb := " is scaled to 0"
	if len(names) > 1 {
		verb = " are scaled to 0"
	}
	r.Text = "has no endpoint: " + strings.Join(names, ", ") + verb
	r.At, r.For = selected[0].Ref, "a replica of "+names[0]
	r.Fields = append(r.Fields, Field{Path: "spec.selector"})
	return r
}

// selects reports whether the selector of the Service matches the labels in the template of the workload.
func selects(service, workload *observation.State) bool {
	return Selects(service.Leaves, workload.Leaves, TemplateLabels)
}

// The fields with the labels of Pods: of a Pod itself, and of those of a workload.
const (
	PodLabels      = "metadata.labels"
	TemplateLabels = "spec.template.metadata.labels"
)

// Selects reports whether the selector of a Service matches the labels in a field of another object. An empty
// selector matches nothing.
func Selects(service, of []observation.Leaf, labels string) bool {
	const selector = "spec.selector"
	values := map[string]uint64{}
	for _, l := range of {
		if key, found := strings.CutPrefix(l.Path, labels); found {
			values[key] = l.Value
		}
	}
	found := false
	for _, l := range service {
		key, is := strings.CutPrefix(l.Path, selector)
		switch value, known := values[key]; {
		case !is || key == "":
		case !known || value != l.Value:
			return false
		default:
			found = true
		}
	}
	return found
}
