// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byDelivery is rule C4 for a write by a tool of continuous delivery. It belongs to the revision that
// the tool applies: the tool wrote it, its object names the release or application, and the revision
// was under way. Outside a revision the tool corrects a drift: a separate change, with a link to
// the last revision.
func byDelivery(s *Scene, w *change.Write) (Cause, bool, []span.Link) {
	to, tool := applier(w)
	if tool == nil {
		return Cause{}, false, nil
	}
	var open, last *change.Reconciliation
	ambiguous := false
	for _, t := range s.Known.Named(to) {
		r := revisionAt(s, t, w)
		switch {
		case r == nil || t == w.Timeline && w.Verb != history.Deleted:
		case !underWay(s, r, w):
			if last == nil || last.First().RV < r.First().RV {
				last = r
			}
		case delivered(s, w, r, tool):
			ambiguous = ambiguous || open != nil
			open = r
		}
	}
	switch {
	case open != nil && !ambiguous:
		c := Cause{Line: open.Lineage, Parent: open, Evidence: span.ByRelation}
		if !certain(s, w, to) {
			c.Evidence = span.ByTime
		}
		return c, true, nil
	case last != nil && Drift(s, w) != nil:
		return Cause{}, false, []span.Link{last.Link(linkDelivery)}
	}
	return Cause{}, false, nil
}

// linkDelivery is the reason of a link from the correction of a drift to the last revision.
const linkDelivery = "delivery"

// applier returns the name of the release or application that applies the object of w, and its tool;
// nil without one.
func applier(w *change.Write) (object.Name, *kind.Delivery) {
	to, ok := change.Related(w.Timeline, object.Applied)
	if !ok {
		return object.Name{}, nil
	}
	return to, kind.DeliveryOf(to)
}

// revisionAt returns the newest reconciliation of t that began before w, or nil.
func revisionAt(s *Scene, t *change.Timeline, w *change.Write) *change.Reconciliation {
	for _, r := range slices.Backward(s.Placed.History(t.Ref.UID)) {
		if r.First().RV < w.RV {
			return r
		}
	}
	return nil
}

// underWay reports whether r applied objects at the time of w. A failed revision has ended.
func underWay(s *Scene, r *change.Reconciliation, w *change.Write) bool {
	if !r.OpenAt(w, s.options.Quiet) {
		return false
	}
	if t := r.Timeline; r.Verb == history.Deleted {
		return t.Removal == nil || t.Removal.RV >= w.RV
	}
	return r.FailedBefore(w.RV) == nil
}

// delivered reports whether the tool wrote w for r. A person's tool acts as that person.
func delivered(s *Scene, w *change.Write, r *change.Reconciliation, tool *kind.Delivery) bool {
	if tool.Personal {
		if user, by := userOf(s, w), userOf(s, r.First()); user != "" && by != "" && user != by {
			return false
		}
	}
	return byTool(s, w, tool)
}

// byTool reports whether the tool may have written w. A deletion has no field manager.
func byTool(s *Scene, w *change.Write, tool *kind.Delivery) bool {
	if q := s.Trail.Audited(w); q != nil && !q.Unauthenticated && (q.UserAgent != "" || q.Manager != "") {
		return tool.Is(q.Manager) || tool.Is(change.ClientOf(q.UserAgent))
	}
	return tool.Is(w.Manager) || w.Manager == "" && w.Verb == history.Deleted
}

// certain reports whether author and name agree. A hook does not name its release. Without an audit
// log, the author of a deletion is unknown.
func certain(s *Scene, w *change.Write, to object.Name) bool {
	return to != kind.AnyRelease(to.Namespace) && (w.Manager != "" || userOf(s, w) != "")
}

// Drift returns the object of the tool that undoes a change of somebody else with w, or nil. A person
// with a tool undoes nothing.
func Drift(s *Scene, w *change.Write) *change.Timeline {
	to, tool := applier(w)
	if tool == nil || tool.Personal || w.Verb == history.Deleted || !byTool(s, w, tool) {
		return nil
	}
	named := s.Known.Named(to)
	if len(named) == 0 {
		return nil
	}
	if r := revisionAt(s, named[0], w); r != nil && underWay(s, r, w) {
		return nil
	}
	return named[0]
}

// byPublication is rule C4 for the beginning of a revision: the source has published it. An open change
// of the object that has not begun a revision is nearer. The publication is then a link.
func byPublication(s *Scene, w *change.Write) (Cause, bool, []span.Link) {
	r := publication(s, w)
	switch {
	case r == nil:
		return Cause{}, false, nil
	case itself(s, w) && !s.Placed.UnderWay(w).BeganRevision():
		return Cause{}, false, []span.Link{r.Link(linkRevision)}
	}
	return Cause{Line: r.Lineage, Parent: r, Evidence: span.ByRelation}, true, nil
}

// linkRevision is the reason of a link to the publication of an applied revision.
const linkRevision = "revision"

// publication returns the change in which the source of w's object published the revision that w
// begins, or nil.
func publication(s *Scene, w *change.Write) *change.Reconciliation {
	id := w.Revision()
	if id == "" {
		return nil
	}
	for _, relation := range w.Version.Relations {
		if relation.Type != object.Source {
			continue
		}
		for _, source := range s.Known.Named(relation.To) {
			published := func(r *change.Reconciliation) bool { return r.Revision() == id }
			if r := instantBefore(s, w, source, published); r != nil {
				return r
			}
		}
	}
	return nil
}

// delivers reports whether w begins a revision with an unknown publication, or is as in Applies.
func delivers(s *Scene, w *change.Write) bool {
	if id := w.Revision(); id != "" && !w.Publishes() {
		return !kind.Certificate.Is(w.Timeline.Ref.Kind) && !published(s, w, id)
	}
	return Applies(s, w)
}

// Applies reports whether w is the work of a tool for an object without an observation from after w. A
// later revision of that object may be the cause.
func Applies(s *Scene, w *change.Write) bool {
	to, tool := applier(w)
	if _, _, stored := kind.Release(w.Timeline.Ref.Kind, w.Timeline.Ref.Name); stored || tool == nil ||
		w.Verb == history.Deleted || !tool.Is(w.Manager) {
		return false
	}
	return !after(w, s.Known.Named(to))
}

// published reports whether a source of w's object had the revision id, perhaps before the start of the
// observer.
func published(s *Scene, w *change.Write, id string) bool {
	for _, relation := range w.Version.Relations {
		had := func(t *change.Timeline) bool {
			return slices.ContainsFunc(t.Versions, func(v *history.Version) bool {
				return v.Revision != nil && v.Revision.ID == id
			})
		}
		if relation.Type == object.Source && slices.ContainsFunc(s.Known.Named(relation.To), had) {
			return true
		}
	}
	return false
}
