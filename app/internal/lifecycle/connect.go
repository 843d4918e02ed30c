// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// inOne reports whether everything is one group. Rebuilding needs all present objects together.
func (e *Engine) inOne() bool { return e.opts.Rebuild || e.whole }

// changed puts t into its group after an observation of its object, and marks the group as changed.
func (e *Engine) changed(t *change.Timeline) {
	if len(t.Versions) == 0 {
		e.relate(t, nil) // it has a name already
	}
	g := e.groups.of[t]
	if g == nil && !e.inOne() && t.Idle(false) {
		e.changedIdle(t)
		return
	}
	if g == nil {
		g = e.groupFor(t)
		e.groups.of[t] = g
		g.members[t] = struct{}{}
		e.active(t)
	}
	g.change()
	g.forget(t)
	if !e.inOne() {
		e.tie(g, t)
	}
}

// groupFor returns the group for t, a timeline without a group: that of the object or of an owner,
// or else a new one. A new group would only be merged with them.
func (e *Engine) groupFor(t *change.Timeline) *group {
	if e.inOne() {
		return e.one()
	}
	if g := e.groups.byUID[t.Ref.UID]; g != nil {
		return g
	}
	for _, o := range t.Above {
		if g := e.groups.byUID[o.UID]; g != nil {
			return g
		}
	}
	return e.groups.add()
}

// changedIdle marks the groups above and below t as changed. t itself has no spans and joins no
// group. So a list of all objects makes no groups.
func (e *Engine) changedIdle(t *change.Timeline) {
	for _, o := range t.Above {
		if g := e.groups.byUID[o.UID]; g != nil {
			g.change()
		}
	}
	if g := e.groups.byUID[t.Ref.UID]; g != nil {
		g.change()
		e.tie(g, t)
	}
	e.changedReferrers(t)
}

// one returns the only group.
func (e *Engine) one() *group {
	for g := range e.groups.all {
		return g
	}
	return e.groups.add()
}

// tie connects the group of t with the objects above t and with the relatives of t by name.
func (e *Engine) tie(g *group, t *change.Timeline) {
	g = e.groups.tieUID(g, t.Ref.UID)
	g = e.tiePast(g, t)
	g = e.tieAbove(g, t)
	g = e.tieRelatives(g, t)
	g = e.tieRelations(g, t)
	if len(e.trail.refusals) > 0 && e.trail.refusals[subjectOf(t)] != nil {
		e.groups.tieName(g, subjectOf(t))
	}
}

// tiePast connects the group with the traces in the Past of t.
func (e *Engine) tiePast(g *group, t *change.Timeline) *group {
	if t.Past == nil {
		return g
	}
	g = e.groups.tieLine(g, t.Past.TraceID)
	if t.Past.Before != nil {
		for i := range t.Past.Before.Recs {
			g = e.groups.tieLine(g, t.Past.Before.Recs[i].TraceID)
		}
	}
	return g
}

// tieAbove connects the group with the owners of t and the objects above them.
func (e *Engine) tieAbove(g *group, t *change.Timeline) *group {
	g, _ = e.climb(g, t, make([]types.UID, 0, 4))
	return g
}

// maxAbove bounds the number of owners above one object. Users can write long chains of
// ownerReferences.
const maxAbove = 64

// climb connects the group with the objects above t. It adds their UIDs to seen, because
// ownerReferences may form a cycle.
func (e *Engine) climb(g *group, t *change.Timeline, seen []types.UID) (*group, []types.UID) {
	for _, o := range t.Above {
		if len(seen) >= maxAbove || slices.Contains(seen, o.UID) {
			continue
		}
		seen = append(seen, o.UID)
		g = e.groups.tieUID(g, o.UID)
		if up := e.object(o.UID); up != nil {
			g, seen = e.climb(e.tiePast(g, up), up, seen)
		}
	}
	return g, seen
}

// namespaceKey and apiKey return the names that relate objects to a changing Namespace, and to the
// CustomResourceDefinition of an API group.
func namespaceKey(name string) subject { return subject{Kind: kind.Namespace.Kind.Kind, Name: name} }

func apiKey(group string) subject {
	return subject{Kind: kind.CustomResourceDefinition.Kind.Kind, Name: group}
}

// tieRelatives connects the group with relatives by name. All objects in a Namespace belong to the
// Namespace's group while the Namespace changes.
func (e *Engine) tieRelatives(g *group, t *change.Timeline) *group {
	switch {
	case kind.CustomResourceDefinition.Is(t.Ref.Kind), kind.APIService.Is(t.Ref.Kind):
		return e.groups.tieName(g, apiKey(cause.GroupOf(t.Ref.Name)))
	case kind.Namespace.Is(t.Ref.Kind):
		key := namespaceKey(t.Ref.Name)
		if t.Idle(e.opts.Rebuild) || e.groups.byName[key] == g {
			return g
		}
		g = e.groups.tieName(g, key)
		for other := range e.groups.all {
			if other != g && other.has(t.Ref.Name) {
				g = e.groups.merge(g, other)
			}
		}
		return g
	case t.Ref.Namespace != "" && e.groups.byName[namespaceKey(t.Ref.Namespace)] != nil:
		return e.groups.tieName(g, namespaceKey(t.Ref.Namespace))
	}
	return g
}

// has reports whether the group has an object in the namespace.
func (g *group) has(namespace string) bool {
	for t := range g.members {
		if t.Ref.Namespace == namespace {
			return true
		}
	}
	return false
}

// context connects the group of t with the trace in the trace context.
func (e *Engine) context(t *change.Timeline, traceparent string) {
	if traceparent == "" || e.inOne() {
		return
	}
	if g := e.groups.of[t]; g != nil {
		e.groups.tieLine(g, cause.ParseContext(traceparent, "").TraceID())
	}
}

// tieOwners connects the group of t with former owners, because their ends may wait for t.
func (e *Engine) tieOwners(t *change.Timeline, owners []object.Owner) {
	for _, o := range owners {
		if g := e.groups.of[t]; g != nil && !e.inOne() {
			e.groups.tieUID(g, o.UID)
		} else if g := e.groups.byUID[o.UID]; g != nil {
			g.change()
		}
	}
}

// again puts t into a group, by all kept data of t.
func (e *Engine) again(t *change.Timeline) {
	e.changed(t)
	for _, v := range t.Versions {
		e.context(t, v.TraceParent)
		e.tieOwners(t, v.Owners)
	}
	for _, w := range t.Requests() {
		e.context(t, w.TraceParent)
	}
	if t.Audits != nil {
		for _, w := range t.Audits.List {
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

// changedRefusal puts the refused writes to an object into the group of that object, or of its
// owner. Several objects may have the same name.
func (e *Engine) changedRefusal(id subject) {
	var g *group
	switch {
	case e.inOne():
		g = e.one()
	case id.UID != "":
		g = e.groups.byUID[id.UID]
	case id.Owner != "":
		g = e.groups.byUID[id.Owner]
	default:
		g = e.groups.byName[id]
	}
	if g == nil {
		g = e.groups.add()
	}
	g.refusals[id] = struct{}{}
	g.change()
	if !e.inOne() {
		g = e.tieDrain(g, id)
	}
	switch {
	case e.inOne():
	case id.UID != "":
		e.groups.tieUID(g, id.UID)
	case id.Owner != "":
		e.groups.tieUID(g, id.Owner)
	default:
		e.groups.tieName(g, id)
		for _, t := range e.named(id) {
			if other := e.groups.of[t]; other != nil {
				e.groups.tieName(other, id)
			}
		}
	}
}

// tieDrain connects the group of refused evictions with the change of the Pod's Node.
func (e *Engine) tieDrain(g *group, id subject) *group {
	of := e.trail.refusals[id]
	if of == nil {
		return g
	}
	for _, r := range of.kinds {
		if node := e.evictedFrom(id, r.writes[0]); node != "" {
			if key := keyOf(change.NodeName(node)); e.groups.byName[key] != nil {
				g = e.groups.tieName(g, key)
			}
		}
	}
	return g
}

// changedRefusals marks the groups with a refused write that may be the request w as changed.
func (e *Engine) changedRefusals(w *observation.Write) {
	if g := e.groups.byName[nameOf(w)]; g != nil {
		g.change()
	}
	if g := e.groups.byUID[w.Controller]; g != nil {
		g.change()
	}
}

// regroup replaces all groups by new ones, made from the active timelines, the commands and the
// refused writes.
func (e *Engine) regroup(active func(*change.Timeline) bool) {
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

// nodeChanged records the attributes of a Node for the spans of its Pods.
func (e *Engine) nodeChanged(name string, n *observation.Node) {
	if known := e.nodes[name]; known == nil || *known != *n {
		e.groups.changeAll()
	}
	e.nodes[name] = n
}
