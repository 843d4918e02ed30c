// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

// Group has the shifts with one cause: the phases of one workload, and workloads with one change or one best factor.
type Group struct {
	// Lead is the shift that describes the group.
	Lead *Shift
	// Also are the other phases of its workload, and Others the leads of other workloads, the worst first. Rest are
	// the other phases of those.
	Also, Others, Rest []*Shift
	// Near are shifts of other attributes in the same phase that began at about the same time: nodes and zones share
	// their objects, so these may be the same shift.
	Near []*Shift
	// Since is the earliest time of all.
	Since time.Time
}

// All returns all shifts of the group.
func (g *Group) All() []*Shift {
	return slices.Concat([]*Shift{g.Lead}, g.Also, g.Others, g.Near, g.Rest)
}

// startup is the phase that has all others of a Pod before readiness.
const startup = "startup"

// Groups returns the groups of a report, the worst first. Ended shifts, and faster ones, have groups of their own.
func Groups(r *Report) []Group {
	units := map[string][]*Shift{}
	var order []string
	for i := range r.Shifts {
		s := &r.Shifts[i]
		of := s.unit()
		if s.Workload != "" { // also its Deployment and its ReplicaSets
			of = fmt.Sprintf("%q %q %q", s.Cluster, s.Namespace, s.Workload)
		}
		key := fmt.Sprintf("%q %t %t", of, s.Faster, s.Ended)
		if units[key] == nil {
			order = append(order, key)
		}
		units[key] = append(units[key], s)
	}
	byCause := map[string]*Group{}
	loss := map[*Group]timestamp.Seconds{}
	var groups []*Group
	add := func(g *Group) {
		loss[g] = abs(g.Lead.Effect)
		causes := causesOf(g.Lead)
		for _, c := range causes {
			with := byCause[c]
			if with == nil || with == g {
				continue
			}
			with.join(g)
			loss[with] += loss[g]
			groups = slices.DeleteFunc(groups, func(one *Group) bool { return one == g })
			for of, to := range byCause {
				if to == g {
					byCause[of] = with
				}
			}
			g = with
		}
		for _, c := range causes {
			byCause[c] = g
		}
		if !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	for _, key := range order {
		for rest := units[key]; len(rest) > 0; {
			var g *Group
			g, rest = unit(rest)
			add(g)
		}
	}
	slices.SortStableFunc(groups, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(loss[b], loss[a]), worse(a.Lead, b.Lead))
	})
	out := make([]Group, 0, len(groups))
	for _, g := range groups {
		slices.SortFunc(g.Others, worse)
		if i := slices.IndexFunc(out, func(of Group) bool { return of.near(g) }); i >= 0 {
			out[i].Near = append(append(out[i].Near, g.Lead), g.Others...)
			out[i].Rest = append(append(out[i].Rest, g.Also...), g.Rest...)
			continue
		}
		out = append(out, *g)
	}
	return out
}

// nearby is the largest distance between the begins of shifts that may be one: a rare value has few samples.
const nearby = 3 * 24 * time.Hour

// near reports whether the shift of another attribute may be that of g.
func (g *Group) near(other *Group) bool {
	a, b := g.Lead, other.Lead
	distance := b.Since.Sub(a.Since)
	return a.Attribute != nil && b.Attribute != nil && a.Cluster == b.Cluster && a.Kind == b.Kind && a.Verb == b.Verb &&
		a.Phase == b.Phase && a.Faster == b.Faster && a.Ended == b.Ended && max(distance, -distance) <= nearby
}

// join adds the group of another workload with the same cause. The worse one leads, but a series of an attribute goes
// before those of workloads.
func (g *Group) join(other *Group) {
	if ahead(other.Lead, g.Lead) {
		g.Lead, other.Lead = other.Lead, g.Lead
		g.Also, other.Also = other.Also, g.Also
	}
	g.Others = append(append(g.Others, other.Lead), other.Others...)
	g.Rest = append(append(g.Rest, other.Also...), other.Rest...)
	if other.Since.Before(g.Since) {
		g.Since = other.Since
	}
}

func ahead(a, b *Shift) bool {
	if (a.Attribute != nil) != (b.Attribute != nil) {
		return a.Attribute != nil
	}
	return worse(a, b) < 0
}

// unit returns the first group of the shifts of one workload, and the other shifts. The most special phase with at
// least half of the greatest effect leads: total and startup have the others within them, and a Deployment has its
// Pods. The others of the group began at about the same time, or have the same cause.
func unit(all []*Shift) (g *Group, rest []*Shift) {
	slices.SortFunc(all, func(a, b *Shift) int { return cmp.Or(cmp.Compare(level(a), level(b)), worse(a, b)) })
	lead := all[0]
	for _, s := range all {
		if level(s) == level(all[0]) && 2*abs(s.Effect) >= abs(all[0].Effect) && rank(s.Phase) < rank(lead.Phase) {
			lead = s
		}
	}
	g = &Group{Lead: lead, Since: lead.Since}
	causes := causesOf(lead)
	for _, s := range all {
		same := slices.ContainsFunc(causesOf(s), func(c string) bool { return slices.Contains(causes, c) })
		switch distance := s.Since.Sub(lead.Since); {
		case s == lead:
		case !same && max(distance, -distance) > nearby:
			rest = append(rest, s)
		default:
			g.Also = append(g.Also, s)
			if s.Since.Before(g.Since) {
				g.Since = s.Since
			}
		}
	}
	return g, rest
}

// level orders the kinds of a workload: its Pods are within all others.
func level(s *Shift) int {
	if s.Kind == podKind {
		return 0
	}
	return 1
}

const podKind = "Pod"

// rank orders phases by what they contain.
func rank(phase string) int {
	switch phase {
	case sample.Total:
		return 2
	case startup:
		return 1
	}
	return 0
}

// own are the attributes whose values are common to workloads without a common cause.
var own = []string{sample.Author, sample.Volumes, sample.Replicas, sample.Requests, sample.Changed}

// causesOf identifies the causes of a shift: its change, its attribute, and the values of its best factor.
func causesOf(s *Shift) []string {
	var out []string
	add := func(kind string, what any) {
		out = append(out, fmt.Sprintf("%t %t %s %q", s.Faster, s.Ended, kind, what))
	}
	if s.Change != nil {
		add("change", s.Change.TraceID)
	}
	if s.Attribute != nil {
		add("value", *s.Attribute)
	}
	for _, f := range s.Factors[:min(len(s.Factors), 1)] {
		for _, v := range f.Values {
			if !slices.Contains(own, v.Attribute) {
				add("value", v)
			}
		}
	}
	return out
}
