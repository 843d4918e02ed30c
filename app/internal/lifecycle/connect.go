// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

// inOne reports whether everything is one group. Rebuilding needs all present objects together.
func (gs *groups) inOne() bool { return gs.rebuild || gs.whole }

// changed puts t into its group after an observation of its object, and marks the group as changed.
func (gs *groups) changed(t *change.Timeline) {
	g := gs.of[t]
	if g == nil && !gs.inOne() && t.Idle(false) {
		gs.changedIdle(t)
		return
	}
	if g == nil {
		g = gs.groupFor(t)
		gs.of[t] = g
		g.members[t] = struct{}{}
		gs.joined(t)
	}
	g.change()
	g.kept.Forget(t)
	if !gs.inOne() {
		gs.tie(g, t)
	}
}

// groupFor returns the group for t, a timeline without a group: that of the object or of an owner,
// or else a new one. A new group would only be merged with them.
func (gs *groups) groupFor(t *change.Timeline) *group {
	if gs.inOne() {
		return gs.one()
	}
	if g := gs.byUID[t.Ref.UID]; g != nil {
		return g
	}
	for _, o := range t.Above {
		if g := gs.byUID[o.UID]; g != nil {
			return g
		}
	}
	return gs.add()
}

// changedIdle marks the groups above and below t as changed. t itself has no spans and joins no
// group. So a list of all objects makes no groups.
func (gs *groups) changedIdle(t *change.Timeline) {
	for _, o := range t.Above {
		if g := gs.byUID[o.UID]; g != nil {
			g.change()
		}
	}
	if g := gs.byUID[t.Ref.UID]; g != nil {
		g.change()
		gs.tie(g, t)
	}
	gs.changedReferrers(t)
	if kind.PersistentVolumeClaim.Is(t.Ref.Kind) {
		gs.tieAttachments(nil, t)
	}
}

// one returns the only group.
func (gs *groups) one() *group {
	for g := range gs.all {
		return g
	}
	return gs.add()
}

// tie connects the group of t with the objects above t and with the relatives of t by name.
func (gs *groups) tie(g *group, t *change.Timeline) {
	g = gs.tieUID(g, t.Ref.UID)
	g = gs.tiePast(g, t)
	g = gs.tieAbove(g, t)
	g = gs.tieRelatives(g, t)
	g = gs.tieRelations(g, t)
	g = gs.tieAttachments(g, t)
	if gs.trail.RefusalsOf(index.SubjectOf(t)) != nil {
		gs.tieName(g, index.SubjectOf(t))
	}
}

// tiePast connects the group with the traces in the Past of t.
func (gs *groups) tiePast(g *group, t *change.Timeline) *group {
	if t.Past == nil {
		return g
	}
	g = gs.tieLine(g, t.Past.TraceID)
	for _, of := range t.Claims() {
		g = gs.tieLine(g, of.TraceID)
	}
	if t.Past.Before != nil {
		for i := range t.Past.Before.Recs {
			g = gs.tieLine(g, t.Past.Before.Recs[i].TraceID)
		}
	}
	return g
}

// tieAbove connects the group with the owners of t and the objects above them.
func (gs *groups) tieAbove(g *group, t *change.Timeline) *group {
	g, _ = gs.climb(g, t, make([]types.UID, 0, 4))
	return g
}

// maxAbove bounds the number of owners above one object. Users can write long chains of
// ownerReferences.
const maxAbove = 64

// climb connects the group with the objects above t. It adds their UIDs to seen, because
// ownerReferences may form a cycle.
func (gs *groups) climb(g *group, t *change.Timeline, seen []types.UID) (*group, []types.UID) {
	for _, o := range t.Above {
		if len(seen) >= maxAbove || slices.Contains(seen, o.UID) {
			continue
		}
		seen = append(seen, o.UID)
		g = gs.tieUID(g, o.UID)
		if up := gs.known.Object(o.UID); up != nil {
			g, seen = gs.climb(gs.tiePast(g, up), up, seen)
		}
	}
	return g, seen
}

// namespaceKey and apiKey return the names that relate objects to a changing Namespace, and to the
// CustomResourceDefinition of an API group.
func namespaceKey(name string) index.Subject {
	return index.Subject{Kind: kind.Namespace.Kind.Kind, Name: name}
}

func apiKey(group string) index.Subject {
	return index.Subject{Kind: kind.CustomResourceDefinition.Kind.Kind, Name: group}
}

// tieRelatives connects the group with relatives by name. All objects in a Namespace belong to the
// Namespace's group while the Namespace changes.
func (gs *groups) tieRelatives(g *group, t *change.Timeline) *group {
	switch {
	case kind.CustomResourceDefinition.Is(t.Ref.Kind), kind.APIService.Is(t.Ref.Kind):
		return gs.tieName(g, apiKey(cause.GroupOf(t.Ref.Name)))
	case kind.Namespace.Is(t.Ref.Kind):
		key := namespaceKey(t.Ref.Name)
		if t.Idle(gs.rebuild) || gs.byName[key] == g {
			return g
		}
		g = gs.tieName(g, key)
		for other := range gs.all {
			if other != g && other.has(t.Ref.Name) {
				g = gs.merge(g, other)
			}
		}
		return g
	case t.Ref.Namespace != "" && gs.byName[namespaceKey(t.Ref.Namespace)] != nil:
		return gs.tieName(g, namespaceKey(t.Ref.Namespace))
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
func (gs *groups) context(t *change.Timeline, traceparent string) {
	if traceparent == "" || gs.inOne() {
		return
	}
	if g := gs.of[t]; g != nil {
		gs.tieLine(g, change.ParseContext(traceparent, "").TraceID())
	}
}

// tieOwners connects the group of t with former owners, because their ends may wait for t.
func (gs *groups) tieOwners(t *change.Timeline, owners []object.Owner) {
	for _, o := range owners {
		if g := gs.of[t]; g != nil && !gs.inOne() {
			gs.tieUID(g, o.UID)
		} else if g := gs.byUID[o.UID]; g != nil {
			g.change()
		}
	}
}

// again puts t into a group, by all kept data of t.
func (gs *groups) again(t *change.Timeline) {
	gs.changed(t)
	for _, v := range t.Versions {
		gs.context(t, v.TraceParent)
		gs.tieOwners(t, v.Owners)
	}
	for _, w := range t.Requests() {
		gs.context(t, w.TraceParent)
	}
	if t.Audits != nil {
		for _, w := range t.Audits.List {
			gs.context(t, w.TraceParent)
		}
	}
}

// changedRun puts a command into the group of its trace.
func (gs *groups) changedRun(id trace.TraceID) {
	g := gs.byLine[id]
	switch {
	case gs.inOne():
		g = gs.one()
	case g == nil:
		g = gs.tieLine(gs.add(), id)
	}
	g.runs[id] = struct{}{}
	g.change()
}

// changedRefusal puts the refused writes to an object into the group of that object, or of its
// owner. Several objects may have the same name.
func (gs *groups) changedRefusal(id index.Subject) {
	var g *group
	switch {
	case gs.inOne():
		g = gs.one()
	case id.UID != "":
		g = gs.byUID[id.UID]
	case id.Owner != "":
		g = gs.byUID[id.Owner]
	default:
		g = gs.byName[id]
	}
	if g == nil {
		g = gs.add()
	}
	g.refusals[id] = struct{}{}
	g.change()
	if !gs.inOne() {
		g = gs.tieDrain(g, id)
	}
	switch {
	case gs.inOne():
	case id.UID != "":
		gs.tieUID(g, id.UID)
	case id.Owner != "":
		gs.tieUID(g, id.Owner)
	default:
		gs.tieName(g, id)
		for _, t := range gs.known.BySubject(id) {
			if other := gs.of[t]; other != nil {
				gs.tieName(other, id)
			}
		}
	}
}

// tieDrain connects the group of refused evictions with the change of the Pod's Node.
func (gs *groups) tieDrain(g *group, id index.Subject) *group {
	of := gs.trail.RefusalsOf(id)
	if of == nil {
		return g
	}
	for _, r := range of.Kinds {
		if node := gs.known.EvictedFrom(id, r.Writes[0]); node != "" {
			if key := keyOf(change.NodeName(node)); gs.byName[key] != nil {
				g = gs.tieName(g, key)
			}
		}
	}
	return g
}

// changedRequest marks the groups of w, a request without an object, as changed: that of its command, and those
// with a refused write that may be the same request.
func (gs *groups) changedRequest(w *observation.Write) {
	if g := gs.byLine[change.RunOf(w)]; g != nil {
		g.change()
	} else if gs.inOne() {
		gs.changeAll()
	}
	if g := gs.byName[index.NameOf(w)]; g != nil {
		g.change()
	}
	if g := gs.byUID[w.Controller]; g != nil {
		g.change()
	}
}

// doubt marks the joins of the audit log's requests to the writes of t as doubtful. They are then computed again.
func (gs *groups) doubt(t *change.Timeline) {
	if trail.Doubt(t) {
		if g := gs.of[t]; g != nil {
			g.change()
		}
	}
}

// changedPods marks Pods as changed without an observation of their own.
func (gs *groups) changedPods(pods []*change.Timeline) {
	for _, t := range pods {
		if g := gs.of[t]; g != nil {
			g.change()
			g.kept.Forget(t)
		}
	}
}

// keyOf returns the key of the group with an object of that name.
func keyOf(n object.Name) index.Subject {
	return index.Subject{Group: n.Group, Kind: n.Kind, Namespace: n.Namespace, Name: n.Name}
}

// tieRelations connects the group of t with the changing objects related to t, in both directions.
// An unchanged object connects nothing: many workloads may read one ConfigMap.
func (gs *groups) tieRelations(g *group, t *change.Timeline) *group {
	for _, r := range t.Refers() {
		if uid, ok := r.To.UID(); ok {
			g = gs.tieUID(g, uid)
		} else if key := keyOf(r.To); gs.byName[key] != nil && gs.connects(r) {
			g = gs.tieName(g, key)
		}
	}
	if t.Idle(false) {
		return g
	}
	for _, name := range t.Names() {
		key := keyOf(name)
		g = gs.tieName(g, key)
		for _, other := range gs.known.Referrers(name) {
			if of := gs.of[other]; of != nil && of != g && gs.refersTo(other, name) {
				g = gs.tieName(of, key)
			}
		}
	}
	return g
}

// tieAttachments connects the groups of Pods and of the attachments of their volumes. t is one of them, or a claim
// between them. It returns the group of t.
func (gs *groups) tieAttachments(g *group, t *change.Timeline) *group {
	switch {
	case kind.Pod.Is(t.Ref.Kind):
		gs.tieAttached(t)
	case kind.VolumeAttachment.Is(t.Ref.Kind):
		for _, pod := range gs.known.Attached(t) {
			gs.tieAttached(pod)
		}
	case kind.PersistentVolumeClaim.Is(t.Ref.Kind):
		for _, by := range gs.known.Referrers(object.NameOf(&t.Ref)) {
			gs.tieAttached(by)
		}
	}
	if now := gs.of[t]; now != nil {
		return now
	}
	return g
}

// tieAttached connects the group of a Pod with those of the attachments of its volumes.
func (gs *groups) tieAttached(pod *change.Timeline) {
	for _, t := range gs.known.Attachments(pod) {
		if gs.of[pod] != nil && gs.of[t] != nil {
			gs.tieUID(gs.of[pod], t.Ref.UID)
		}
	}
}

// connects reports whether the relation r connects groups. A Node connects the Pods of DaemonSets only
// while a change of the Node is known: its status changes often.
func (gs *groups) connects(r object.Relation) bool {
	return r.Type != object.Placed || slices.ContainsFunc(gs.known.Named(r.To), changes)
}

// refersTo reports whether t has a relation to the name that connects groups.
func (gs *groups) refersTo(t *change.Timeline, name object.Name) bool {
	return slices.ContainsFunc(t.Refers(), func(r object.Relation) bool { return r.To == name && gs.connects(r) })
}

// changes reports whether a version of t differs from the one before outside its status, or created
// the object.
func changes(t *change.Timeline) bool {
	for i, v := range t.Versions {
		if i == 0 && (!v.Baseline || change.Found(v)) || i > 0 && v.Fields != t.Versions[i-1].Fields {
			return true
		}
	}
	return t.Removal != nil
}

// changedReferrers marks the groups with a relation to t as changed.
func (gs *groups) changedReferrers(t *change.Timeline) {
	for _, name := range t.Names() {
		for _, other := range gs.known.Referrers(name) {
			if g := gs.of[other]; g != nil {
				g.change()
			}
		}
	}
}

// turn marks the Pods on Nodes with another readiness as changed. Their reasons depend on it.
func (gs *groups) turn(turned map[string]bool) {
	if len(turned) == 0 {
		return
	}
	for t, g := range gs.of {
		if last := t.Last(); last != nil && last.Pod != nil && turned[last.Pod.Node] {
			g.change()
		}
	}
}

// react marks the Pods that wait for schedulers with a first reaction as changed. Their reasons depend on it.
func (gs *groups) react(schedulers map[string]bool) {
	if len(schedulers) == 0 {
		return
	}
	for t, g := range gs.of {
		if last := t.Last(); last != nil && last.Pod != nil && last.Pod.Node == "" {
			g.change()
		}
	}
}
