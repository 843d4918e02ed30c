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
	// Since is the earliest time of all.
	Since time.Time
}

// All returns all shifts of the group.
func (g *Group) All() []*Shift { return slices.Concat([]*Shift{g.Lead}, g.Also, g.Others, g.Rest) }

// startup is the phase that has all others of a Pod before readiness.
const startup = "startup"

// Groups returns the groups of a report, the worst first. Ended shifts, and faster ones, have groups of their own.
func Groups(r *Report) []Group {
	units := map[string][]*Shift{}
	var order []string
	for i := range r.Shifts {
		s := &r.Shifts[i]
		key := fmt.Sprintf("%q %t %t", s.unit(), s.Faster, s.Ended)
		if units[key] == nil {
			order = append(order, key)
		}
		units[key] = append(units[key], s)
	}
	byCause := map[string]*Group{}
	loss := map[*Group]timestamp.Seconds{}
	var groups []*Group
	for _, key := range order {
		g := unit(units[key])
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
	slices.SortStableFunc(groups, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(loss[b], loss[a]), worse(a.Lead, b.Lead))
	})
	out := make([]Group, len(groups))
	for i, g := range groups {
		slices.SortFunc(g.Others, worse)
		out[i] = *g
	}
	return out
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

// unit returns the group of the phases of one workload. The most special phase with at least half of the greatest
// effect leads: total and startup have the others within them.
func unit(all []*Shift) *Group {
	slices.SortFunc(all, worse)
	lead := 0
	for i, s := range all {
		if 2*abs(s.Effect) >= abs(all[0].Effect) && rank(s.Phase) < rank(all[lead].Phase) {
			lead = i
		}
	}
	g := &Group{Lead: all[lead], Also: slices.Delete(slices.Clone(all), lead, lead+1), Since: all[0].Since}
	for _, s := range all {
		if s.Since.Before(g.Since) {
			g.Since = s.Since
		}
	}
	return g
}

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
