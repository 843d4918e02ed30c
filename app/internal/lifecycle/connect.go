// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// inOne reports whether everything is one group. Rebuilding needs all present objects together.
func (e *Engine) inOne() bool { return e.opts.Rebuild || e.whole }

// changed puts t into its group after an observation of its object.
func (e *Engine) changed(t *timeline) {
	g := e.groups.of[t]
	if g == nil && !e.inOne() && t.idle(false) {
		e.changedIdle(t)
		return
	}
	if g == nil {
		if e.inOne() {
			g = e.one()
		} else {
			g = e.groups.add()
		}
		e.groups.of[t] = g
		g.members[t] = struct{}{}
	}
	g.change()
	if !e.inOne() {
		e.tie(g, t)
	}
}

// changedIdle marks the groups above and below t as changed. t itself has no spans and joins no group, so
// a list of all objects makes no groups.
func (e *Engine) changedIdle(t *timeline) {
	for _, o := range t.above {
		if g := e.groups.byUID[o.UID]; g != nil {
			g.change()
		}
	}
	if g := e.groups.byUID[t.ref.UID]; g != nil {
		g.change()
		e.tie(g, t)
	}
}

// one returns the only group.
func (e *Engine) one() *group {
	for g := range e.groups.all {
		return g
	}
	return e.groups.add()
}

// tie connects the group of t with the objects above t and with what its name relates it to.
func (e *Engine) tie(g *group, t *timeline) {
	g = e.groups.tieUID(g, t.ref.UID)
	g = e.tiePast(g, t)
	g = e.tieAbove(g, t)
	g = e.tieRelatives(g, t)
	if len(e.trail.refusals) > 0 && e.trail.refusals[t.subject()] != nil {
		e.groups.tieName(g, t.subject())
	}
}

// tiePast connects the group with the traces that t remembers.
func (e *Engine) tiePast(g *group, t *timeline) *group {
	if t.past == nil {
		return g
	}
	g = e.groups.tieLine(g, t.past.line)
	if t.past.before != nil {
		for i := range t.past.before.recs {
			g = e.groups.tieLine(g, t.past.before.recs[i].line)
		}
	}
	return g
}

// tieAbove connects the group with the owners of t and those above them.
func (e *Engine) tieAbove(g *group, t *timeline) *group {
	g, _ = e.climb(g, t, make([]types.UID, 0, 4))
	return g
}

// maxAbove bounds the owners above one object. Users write ownerReferences, also long chains.
const maxAbove = 64

// climb adds to seen the UIDs on the way: owners may go in a circle.
func (e *Engine) climb(g *group, t *timeline, seen []types.UID) (*group, []types.UID) {
	for _, o := range t.above {
		if len(seen) >= maxAbove || slices.Contains(seen, o.UID) {
			continue
		}
		seen = append(seen, o.UID)
		g = e.groups.tieUID(g, o.UID)
		if up := e.objects[o.UID]; up != nil {
			g, seen = e.climb(e.tiePast(g, up), up, seen)
		}
	}
	return g, seen
}

// namespaceKey and apiKey are the names by which objects relate to a Namespace that changes, and to
// the CustomResourceDefinition of an API group.
func namespaceKey(name string) subject { return subject{kind: kind.Namespace.Kind.Kind, name: name} }

func apiKey(group string) subject {
	return subject{kind: kind.CustomResourceDefinition.Kind.Kind, name: group}
}

// tieRelatives connects the group with relatives by name. All that is in a Namespace belongs to the
// Namespace's group while that changes.
func (e *Engine) tieRelatives(g *group, t *timeline) *group {
	switch {
	case kind.CustomResourceDefinition.Is(t.ref.Kind), kind.APIService.Is(t.ref.Kind):
		return e.groups.tieName(g, apiKey(groupOf(t.ref.Name)))
	case kind.Namespace.Is(t.ref.Kind):
		key := namespaceKey(t.ref.Name)
		if t.idle(e.opts.Rebuild) || e.groups.byName[key] == g {
			return g
		}
		g = e.groups.tieName(g, key)
		for other := range e.groups.all {
			if other != g && other.has(t.ref.Name) {
				g = e.groups.merge(g, other)
			}
		}
		return g
	case t.ref.Namespace != "" && e.groups.byName[namespaceKey(t.ref.Namespace)] != nil:
		return e.groups.tieName(g, namespaceKey(t.ref.Namespace))
	}
	return g
}

// has reports whether the group has an object in the namespace.
func (g *group) has(namespace string) bool {
	for t := range g.members {
		if t.ref.Namespace == namespace {
			return true
		}
	}
	return false
}

// context connects the group of t with the trace that a context names.
func (e *Engine) context(t *timeline, traceparent string) {
	if g := e.groups.of[t]; g != nil && traceparent != "" && !e.inOne() {
		e.groups.tieLine(g, parseContext(traceparent, "").TraceID())
	}
}

// tieOwners connects the group of t with former owners: their ends may wait for t.
func (e *Engine) tieOwners(t *timeline, owners []object.Owner) {
	for _, o := range owners {
		if g := e.groups.of[t]; g != nil && !e.inOne() {
			e.groups.tieUID(g, o.UID)
		} else if g := e.groups.byUID[o.UID]; g != nil {
			g.change()
		}
	}
}

// again puts t into a group by all that is known of it.
func (e *Engine) again(t *timeline) {
	e.changed(t)
	for _, v := range t.versions {
		e.context(t, v.TraceParent)
		e.tieOwners(t, v.Owners)
	}
	for _, w := range t.requests {
		e.context(t, w.TraceParent)
	}
	if t.audits != nil {
		for _, w := range t.audits.list {
			e.context(t, w.TraceParent)
		}
	}
}

// changedRun puts a command into the group of its trace.
func (e *Engine) changedRun(id trace.TraceID) {
	g := e.groups.byLine[id]
	switch {
	case e.inOne():
		g = e.one()
	case g == nil:
		g = e.groups.tieLine(e.groups.add(), id)
	}
	g.runs[id] = struct{}{}
	g.change()
}

// changedRefusal puts the refused writes to an object into the group of that object, or of its owner.
// A name may mean several objects.
func (e *Engine) changedRefusal(id subject) {
	var g *group
	switch {
	case e.inOne():
		g = e.one()
	case id.uid != "":
		g = e.groups.byUID[id.uid]
	case id.owner != "":
		g = e.groups.byUID[id.owner]
	default:
		g = e.groups.byName[id]
	}
	if g == nil {
		g = e.groups.add()
	}
	g.refusals[id] = struct{}{}
	g.change()
	switch {
	case e.inOne():
	case id.uid != "":
		e.groups.tieUID(g, id.uid)
	case id.owner != "":
		e.groups.tieUID(g, id.owner)
	default:
		e.groups.tieName(g, id)
		for _, t := range e.named(id) {
			if other := e.groups.of[t]; other != nil {
				e.groups.tieName(other, id)
			}
		}
	}
}

// changedRefusals makes the groups with a refused write be derived anew that may be the request w.
func (e *Engine) changedRefusals(w *observation.Write) {
	if g := e.groups.byName[nameOf(w)]; g != nil {
		g.change()
	}
	if g := e.groups.byUID[w.Controller]; g != nil {
		g.change()
	}
}

// regroup puts everything into groups, from nothing.
func (e *Engine) regroup(active func(*timeline) bool) {
	e.groups = newGroups()
	for _, t := range e.objects {
		if active(t) {
			e.again(t)
		}
	}
	for id := range e.runs {
		e.changedRun(id)
	}
	for id := range e.trail.refusals {
		e.changedRefusal(id)
	}
}

// nodeChanged notes what a Node's Pods name of it.
func (e *Engine) nodeChanged(name string, n *observation.Node) {
	if known := e.nodes[name]; known == nil || *known != *n {
		e.groups.changeAll()
	}
	e.nodes[name] = n
}
