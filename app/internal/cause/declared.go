// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byDeclared is rule C4 for the relations of the configuration. A component's write to an object
// belongs to the open change of the object that is its cause. Of several open changes the newest is
// the parent, and the others are links. Without an open change, the write has links to the last
// changes.
func byDeclared(s *Scene, w *change.Write) (Cause, bool, []span.Link) {
	causes := declared(s, w)
	if len(causes) == 0 || !byComponent(s, w) || Autoscaler(s, w) != nil {
		return Cause{}, false, nil
	}
	var open, last []*change.Reconciliation
	for _, t := range causes {
		if r := openFor(s, w, t); r != nil {
			open = append(open, r)
		}
		if r := lastBefore(s, w, t); r != nil {
			last = append(last, r)
		}
	}
	return newest(s, w, open, last, span.ByRelation, linkDeclared)
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
	c := Cause{Line: r.Lineage, Parent: r, Evidence: by, Links: linksTo(open[1:], reason)}
	if r.Verb != history.Deleted && r.ConvergedBy(w.RV) != nil || byArrival(s, w, r) {
		c.Evidence = span.ByTime // only the quiet time keeps it open, or only the arrival gives the order
	}
	return c, true, nil
}

// declared returns the causes of the object of w, by the relations of the configuration, each once.
func declared(s *Scene, w *change.Write) []*change.Timeline {
	var out []*change.Timeline
	for _, r := range w.Timeline.Refers() {
		if r.Type != object.Effect {
			continue
		}
		for _, t := range s.Known.Named(r.To) {
			if t != w.Timeline && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

// byComponent reports whether a component made w: the audit log names a user of the cluster's
// (system:) without kubectl, or without the log the field manager is not that of kubectl. A deletion
// leaves no field manager.
func byComponent(s *Scene, w *change.Write) bool {
	if w.Request != nil {
		return false
	}
	if q := s.Trail.Audited(w); q != nil && q.User != "" && !q.Unauthenticated {
		return strings.HasPrefix(q.User, "system:") && !change.IsClient(AuthorOf(q.Write))
	}
	return !change.IsClient(w.Manager) && (w.Manager != "" || w.Verb == history.Deleted)
}

// openFor returns the newest open change of the cause t, or nil. The author of a change is not its
// effect: a program may write several related objects, one after another. A deletion by an unknown
// author belongs only to a deletion.
func openFor(s *Scene, w *change.Write, t *change.Timeline) *change.Reconciliation {
	for _, r := range slices.Backward(s.Placed.History(t.Ref.UID)) {
		first := r.First()
		switch {
		case first.RV >= w.RV, r.Parent == nil && OneAuthor(s, w, first):
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

// linkDeclared is the reason of a link from a write to a change of its cause.
const linkDeclared = "relation"

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

// awaitsDeclared reports whether a component created the object of w, and no cause is known. The
// watch of the cause may be delayed.
func awaitsDeclared(s *Scene, w *change.Write) bool {
	return w.Verb == history.Created && byComponent(s, w) && len(declared(s, w)) == 0 &&
		slices.ContainsFunc(w.Timeline.Refers(), func(r object.Relation) bool { return r.Type == object.Effect })
}
