// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// relation is a relation between two objects (rule C4): for a change of the one, a component writes the other.
type relation struct {
	// effect is the kind of the written object; nil stands for any. verbs are the verbs of the writes.
	effect *kind.Kind
	verbs  []history.Verb
	// by reports whether the component may have made w; nil means any author.
	by func(s *Scene, w *change.Write) bool
	// causes returns the objects that may be the cause.
	causes func(s *Scene, w *change.Write) []*change.Timeline
	// open returns the change of the cause t under way at the time of w, or nil. Without open, no cause is a parent.
	open func(s *Scene, w *change.Write, t *change.Timeline) *change.Reconciliation
	// evidence is that of the parent; empty means ByRelation.
	evidence span.Evidence
	// unsure reports whether only the time relates w to r, its open change. nil means that only the quiet time
	// keeps r open.
	unsure func(s *Scene, w *change.Write, r *change.Reconciliation) bool
	// link is the reason of the links. Without one, there are no links. last returns the change of the cause t that a
	// link leads to, or nil; without last it is the newest one before w.
	link string
	last func(s *Scene, w *change.Write, t *change.Timeline) *change.Reconciliation
	// waits means that a trace waits for a version of the cause from after w. Its watch may be delayed.
	waits bool
}

// evictions are the relations of a deleted Pod to its Node. They precede its owner.
var evictions = [...]relation{
	{ // a drain
		effect: &kind.Pod, verbs: deleted, by: disrupted(change.Evicted), causes: nodesOf,
		open: drain, unsure: ofUnknownUser,
	},
	{ // a taint
		effect: &kind.Pod, verbs: deleted, by: disrupted(change.Tainted), causes: nodesOf,
		open: evictingTaint, unsure: never,
	},
	{ // the removal of the Node
		effect: &kind.Pod, verbs: deleted, by: disrupted(change.Collected), causes: nodesOf,
		open: openAlike, unsure: never,
	},
	{ // a preemption in favour of the only Pod that is nominated for the Node
		effect: &kind.Pod, verbs: deleted, by: disrupted(change.Preempted), causes: preemptor, open: openCreation,
		unsure: never,
	},
	{ // … or of the one of several that the scheduler's Event names
		effect: &kind.Pod, verbs: deleted, by: disrupted(change.Preempted), causes: reportedPreemptor,
		open: openCreation, evidence: span.ByEvent, unsure: never,
	},
}

// relations are the other relations, in order. Those of the configuration come last.
var relations = [...]relation{
	{ // the API server registers the API of a definition
		effect: &kind.APIService, verbs: anyVerb, by: registersAPI, causes: definitions,
		open: newestOpen, unsure: never,
	},
	{ // a StatefulSet makes the claims of its Pods
		effect: &kind.PersistentVolumeClaim, verbs: created, by: bySetController, causes: setsOfClaim, open: wantsClaim,
		waits: true,
	},
	{ // a provisioner makes the volume of a claim, and the volume may go with its claim
		effect: &kind.PersistentVolume, verbs: createdOrDeleted, by: byProvisioner, causes: claims, open: openAlike,
		waits: true,
	},
	{ // a Pod waits for its claim
		effect: &kind.Pod, verbs: created, causes: unboundClaims, link: linkClaim,
	},
	{ // the volume of a Pod is attached to its Node, and detached after the Pod
		effect: &kind.VolumeAttachment, verbs: createdOrDeleted, by: byAttacher, causes: attached, open: attaches,
		link: linkDeclared, waits: true,
	},
	{ // an autoscaler scales its target: after its convergence, a metric is the cause
		verbs: updated, by: scales, causes: autoscalers, open: openFor, link: linkAutoscaler,
	},
	{ // cert-manager writes the Secret of a Certificate
		effect: &kind.Secret, verbs: createdOrUpdated, by: byCertManager, causes: certificates,
		open: openByAny, link: linkDeclared, waits: true,
	},
	{ // the configuration
		verbs: anyVerb, by: byOtherComponent, causes: declared, open: openFor, link: linkDeclared,
	},
}

var (
	created          = []history.Verb{history.Created}
	updated          = []history.Verb{history.Updated}
	deleted          = []history.Verb{history.Deleted}
	createdOrUpdated = []history.Verb{history.Created, history.Updated}
	createdOrDeleted = []history.Verb{history.Created, history.Deleted}
	anyVerb          = []history.Verb{history.Created, history.Updated, history.Deleted}
)

// linkDeclared is the reason of a link from a write to a change of its cause.
const linkDeclared = "relation"

// byAny returns the rule for relations: the first one with an open change names the parent.
func byAny(all []relation) rule {
	return func(s *Scene, w *change.Write) (Cause, bool, []span.Link) {
		var links []span.Link
		for i := range all {
			c, found, more := all[i].of(s, w)
			if found {
				c.Links = append(c.Links, links...)
				return c, true, nil
			}
			links = append(links, more...)
		}
		return Cause{}, false, links
	}
}

// of applies the relation to w. Of several open changes, the newest is the parent, and the others are links. Without
// an open change, the last ones are links.
func (x *relation) of(s *Scene, w *change.Write) (Cause, bool, []span.Link) {
	if !x.has(s, w) {
		return Cause{}, false, nil
	}
	var open, last []*change.Reconciliation
	for _, t := range x.causes(s, w) {
		if x.open != nil {
			if r := x.open(s, w, t); r != nil {
				open = append(open, r)
			}
		}
		before := lastBefore
		if x.last != nil {
			before = x.last
		}
		if r := before(s, w, t); r != nil && x.link != "" {
			last = append(last, r)
		}
	}
	evidence := cmp.Or(x.evidence, span.ByRelation)
	c, found, links := newest(s, w, open, last, evidence, x.link)
	if found && x.unsure != nil && !byArrival(s, w, c.Parent) {
		c.Evidence = evidence
		if x.unsure(s, w, c.Parent) {
			c.Evidence = span.ByTime
		}
	}
	return c, found, links
}

// has reports whether w may be an effect in the relation.
func (x *relation) has(s *Scene, w *change.Write) bool {
	return (x.effect == nil || x.effect.Is(w.Timeline.Ref.Kind)) && slices.Contains(x.verbs, w.Verb) &&
		(x.by == nil || x.by(s, w))
}

// newest returns the newest open change as the cause of w, by that evidence. The other open changes become
// links with that reason. Without an open change it returns links to the last ones.
func newest(s *Scene,
	w *change.Write, open, last []*change.Reconciliation, by span.Evidence, reason string,
) (Cause, bool, []span.Link) {
	newestFirst(open)
	newestFirst(last)
	if len(open) == 0 {
		return Cause{}, false, linksTo(last, reason)
	}
	r := open[0]
	c := Cause{Line: r.Lineage, Parent: r, Evidence: by}
	if reason != "" {
		c.Links = linksTo(open[1:], reason)
	}
	if r.Verb != history.Deleted && r.ConvergedBy(w.RV) != nil || byArrival(s, w, r) {
		c.Evidence = span.ByTime // only the quiet time keeps it open, or only the arrival gives the order
	}
	return c, true, nil
}

func never(*Scene, *change.Write, *change.Reconciliation) bool { return false }

// openFor returns the newest open change of the cause t, or nil. The author of a change is not its
// effect: a program may write several related objects, one after another. A deletion by an unknown
// author belongs only to a deletion.
func openFor(s *Scene, w *change.Write, t *change.Timeline) *change.Reconciliation {
	return newestFor(s, w, t, func(r *change.Reconciliation) bool {
		return r.Parent == nil && OneAuthor(s, w, r.First())
	})
}

// openByAny is openFor for a relation that holds for one author, too.
func openByAny(s *Scene, w *change.Write, t *change.Timeline) *change.Reconciliation {
	return newestFor(s, w, t, func(*change.Reconciliation) bool { return false })
}

// newestFor returns the newest open change of the cause t without the property, or nil.
func newestFor(
	s *Scene, w *change.Write, t *change.Timeline, not func(*change.Reconciliation) bool,
) *change.Reconciliation {
	for _, r := range slices.Backward(s.Placed.History(t.Ref.UID)) {
		switch {
		case r.First().RV >= w.RV, not(r):
		case r.Verb == history.Deleted:
			if t.Removal == nil || t.Removal.RV > w.RV || w.Verb == history.Deleted && StillOpen(s, r.Lineage, w) {
				return r
			}
		case w.Verb == history.Deleted && s.Trail.Audited(w) == nil:
		case r.OpenAt(w, s.options.Quiet):
			return r
		}
	}
	return nil
}

// openAlike returns the open change of t with the verb of w, or nil.
func openAlike(s *Scene, w *change.Write, t *change.Timeline) *change.Reconciliation {
	return openOf(s, w, t, w.Verb)
}

// openCreation returns the open creation of t, or nil.
func openCreation(s *Scene, w *change.Write, t *change.Timeline) *change.Reconciliation {
	return openOf(s, w, t, history.Created)
}

// openOf returns the newest change of t before w if it is open and has that verb, or nil.
func openOf(s *Scene, w *change.Write, t *change.Timeline, verb history.Verb) *change.Reconciliation {
	r := s.Placed.Current(t.Ref.UID)
	if r == nil || r.First().RV > w.RV || r.Verb != verb || !r.OpenAt(w, s.options.Quiet) {
		return nil
	}
	return r
}

// newestOpen returns the newest reconciliation of t if its trace is open, or nil.
func newestOpen(s *Scene, w *change.Write, t *change.Timeline) *change.Reconciliation {
	if r := s.Placed.Current(t.Ref.UID); r != nil && StillOpen(s, r.Lineage, w) {
		return r
	}
	return nil
}

// lastBefore returns the last change of t before w, or nil.
func lastBefore(s *Scene, w *change.Write, t *change.Timeline) *change.Reconciliation {
	var last *change.Reconciliation
	for _, all := range [][]*change.Reconciliation{s.Placed.History(t.Ref.UID), s.Placed.Instants(t.Ref.UID)} {
		for _, r := range all {
			if rv := r.First().RV; rv < w.RV && (last == nil || rv > last.First().RV) {
				last = r
			}
		}
	}
	return last
}

func newestFirst(all []*change.Reconciliation) {
	slices.SortFunc(all, func(a, b *change.Reconciliation) int {
		return cmp.Or(cmp.Compare(b.First().RV, a.First().RV), cmp.Compare(a.Timeline.Ref.UID, b.Timeline.Ref.UID))
	})
}

// maxLinks bounds the links of one write by one rule. An expression may match many objects.
const maxLinks = 4

// linksTo returns links with the reason why to the first of the changes.
func linksTo(all []*change.Reconciliation, why string) []span.Link {
	var out []span.Link
	for _, r := range all[:min(len(all), maxLinks)] {
		out = append(out, r.Link(why))
	}
	return out
}
