// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// maxOwners bounds the search for the topmost workload: authors of objects may write any owners.
const maxOwners = 8

// facts returns the data about the object of r for questions.
func (b *Builder) facts(r *change.Reconciliation) *span.Facts {
	f := &span.Facts{}
	if of, name := b.workload(r.Timeline); name != "" {
		f.Workload = span.Bound(of + "/" + name)
	}
	if r.Verb != history.Removed {
		f.Verb = r.Verb.String()
	}
	last := r.Timeline.Last()
	if last == nil {
		return f
	}
	switch {
	case !r.Done:
		f.Reason = string(b.reasons.Of(r.Timeline).Category)
	case r.Ended.Outcome == span.Failed:
		f.Reason = string(b.reasonOfFailure(r).Category)
	}
	f.Labels = last.Labels
	if p := last.Pod; p != nil {
		f.Pod = &span.PodFacts{Volumes: int64(p.Volumes), Node: span.Bound(p.Node), Images: images(p)}
		ends(f.Pod, p)
		if n := b.known.NodeAttributes(p.Node); n != nil {
			f.Pod.Zone = span.Bound(n.Zone)
		}
	}
	return f
}

// images returns the images of all containers of p, each once.
func images(p *history.PodState) []string {
	out := make([]string, 0, len(p.Init)+len(p.Containers))
	for _, list := range [...][]*observation.Container{p.Init, p.Containers} {
		for _, c := range list {
			if image := span.Bound(c.Image); image != "" && !slices.Contains(out, image) {
				out = append(out, image)
			}
		}
	}
	return out
}

// ends sets the restarts and the last exit code of the containers of p.
func ends(f *span.PodFacts, p *history.PodState) {
	var last time.Time
	for _, list := range [...][]*observation.Container{p.Init, p.Containers} {
		for _, c := range list {
			f.Restarts += int64(c.Restarts)
			for _, s := range [...]*observation.ContainerState{c.Last, c.State} {
				if s.Terminated() && !s.Finished.Before(last) {
					last, f.Ended, f.ExitCode = s.Finished, true, int64(s.ExitCode)
				}
			}
		}
	}
}

// workload returns the kind and the name of the topmost workload above the object of t, or of itself;
// empty without one. The controller of a Pod counts as a workload, unless it is a Node.
func (b *Builder) workload(t *change.Timeline) (of, name string) {
	var top object.Owner
	if kind.IsWorkload(t.Ref.Kind) {
		top = object.Owner{Kind: t.Ref.Kind, Name: t.Ref.Name}
	}
	for range maxOwners {
		o := b.known.Controller(t)
		if o == nil {
			break
		}
		if kind.IsWorkload(o.Kind) || kind.Pod.Is(t.Ref.Kind) && !kind.Node.Is(o.Kind) {
			top = *o
		}
		if t = b.known.Object(o.UID); t == nil {
			break
		}
	}
	return top.Kind.Kind, top.Name
}
