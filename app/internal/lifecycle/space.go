// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
)

// space has the objects of one namespace that explain others.
type space struct {
	// off are the objects without their desired state.
	off map[*change.Timeline]*off
	// followers are the objects whose reason another object may explain, such as Services without an endpoint, with
	// the time from which they have it.
	followers map[*change.Timeline]time.Time
	// resting are the workloads that are scaled to 0.
	resting map[*change.Timeline]struct{}
}

// spaces are the spaces by namespace.
type spaces map[string]*space

// of returns the space of t, a new one without any.
func (all spaces) of(t *change.Timeline) *space {
	s := all[t.Ref.Namespace]
	if s == nil {
		s = &space{
			off: map[*change.Timeline]*off{}, followers: map[*change.Timeline]time.Time{},
			resting: map[*change.Timeline]struct{}{},
		}
		all[t.Ref.Namespace] = s
	}
	return s
}

// drop forgets the space of t if it is empty.
func (all spaces) drop(t *change.Timeline) {
	if s := all[t.Ref.Namespace]; s != nil && len(s.off)+len(s.followers)+len(s.resting) == 0 {
		delete(all, t.Ref.Namespace)
	}
}

// rest notes whether t is a workload that is scaled to 0, and touches the objects that it may explain.
func (p *problems) rest(t *change.Timeline) {
	last := t.Last()
	rests := last != nil && t.Removal == nil && last.Workload != nil && last.Workload.Replicas == 0 &&
		p.known.Controller(t) == nil && !kind.DaemonSet.Is(last.Kind) && !kind.Job.Is(last.Kind)
	s := p.spaces[t.Ref.Namespace]
	if s == nil && !rests {
		return
	}
	s = p.spaces.of(t)
	if _, known := s.resting[t]; known == rests {
		return
	}
	if rests {
		s.resting[t] = struct{}{}
	} else {
		delete(s.resting, t)
	}
	for follower := range s.followers {
		p.touched[follower] = struct{}{}
	}
	p.spaces.drop(t)
}

// follow notes whether another object may explain t, which has the reason r. It returns r with the time of the first
// note: the versions of an EndpointSlice are not kept.
func (all spaces) follow(t *change.Timeline, r reason.Reason) reason.Reason {
	if !slices.Contains(following, r.Category) {
		if s := all[t.Ref.Namespace]; s != nil {
			delete(s.followers, t)
			all.drop(t)
		}
		return r
	}
	s := all.of(t)
	if since, known := s.followers[t]; known && since.Before(r.Since) {
		r.Since = since
	}
	s.followers[t] = r.Since
	return r
}

// following are the reasons that another object may explain.
var following = []reason.Category{reason.NoEndpoints, reason.EndpointsUnready, reason.ScaleMetric}

// idle reports whether a Service selects only the Pods of workloads that are scaled to 0.
func (all spaces) idle(service *change.Timeline) bool {
	s := all[service.Ref.Namespace]
	if s == nil {
		return false
	}
	selector := reason.NewSelector(leaves(service), reason.TemplateLabels)
	for t := range s.resting {
		if selector.Matches(leaves(t)) {
			return true
		}
	}
	return false
}

// stir concludes the followers whose explanation may have changed once more.
func (p *problems) stir() {
	for namespace := range p.stirred {
		if s := p.spaces[namespace]; s != nil {
			for follower := range s.followers {
				p.moved[follower.Ref.UID] = struct{}{}
			}
		}
	}
	clear(p.stirred)
}

// behind returns the objects whose state explains that o does not work, each the highest one: for a Service, the
// objects with its Pods; for an autoscaler, its target.
func (p *problems) behind(o *off) []*off {
	var out []*off
	add := func(of *off) {
		if top := p.top(of); !slices.Contains(following, top.reason.Category) && !slices.Contains(out, top) {
			out = append(out, top)
		}
	}
	switch o.reason.Category {
	case reason.NoEndpoints, reason.EndpointsUnready:
		pods := reason.NewSelector(leaves(o.t), reason.PodLabels)
		workloads := reason.NewSelector(leaves(o.t), reason.TemplateLabels)
		for t, of := range p.spaces.of(o.t).off {
			if of.pod && pods.Matches(leaves(t)) || !of.pod && workloads.Matches(leaves(t)) {
				add(of)
			}
		}
	case reason.ScaleMetric:
		for t, of := range p.spaces.of(o.t).off {
			name := object.NameOf(&t.Ref)
			if reason.ByPods(o.reason) && slices.ContainsFunc(o.t.Last().Relations, func(r object.Relation) bool {
				return r.Type == object.Target && r.To == name
			}) {
				add(of)
			}
		}
	}
	return out
}

// leaves returns the fields of the newest version of t.
func leaves(t *change.Timeline) []observation.Leaf {
	if last := t.Last(); last != nil && last.Fields != nil {
		return last.Fields.Leaves
	}
	return nil
}
