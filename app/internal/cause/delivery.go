// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// publications are the relations of an object to its source, which publishes revisions (rule C4).
var publications = [...]relation{
	{ // an object begins to apply a revision. An open change of it that has not begun one is nearer.
		verbs: createdOrUpdated, causes: publishers, open: publishedFor, unsure: never,
		link: linkRevision, last: publication,
	},
}

// deliveries are the relations of an object to the release or application of a tool of delivery (rule C4). The tool
// wrote the object, the object names the release, and a revision of it was being applied.
var deliveries = [...]relation{
	{ // the tool applies a revision
		verbs: anyVerb, causes: applying, open: revisionFor, unsure: uncertain,
	},
	{ // outside a revision, the tool corrects a drift
		verbs: createdOrUpdated, by: corrects, causes: releases, link: linkDelivery, last: revisionAt,
	},
}

// applying returns the only release or application whose revision was being applied with w, or nothing.
func applying(s *Scene, w *change.Write) []*change.Timeline {
	return only(slices.DeleteFunc(releases(s, w), func(t *change.Timeline) bool { return revisionFor(s, w, t) == nil }))
}

// releases returns the releases or applications that the object of w names.
func releases(s *Scene, w *change.Write) []*change.Timeline {
	to, tool := applier(w)
	if tool == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Known.Named(to)), func(t *change.Timeline) bool {
		return t == w.Timeline && w.Verb != history.Deleted
	})
}

// revisionFor returns the revision of t that its tool applies with w, or nil.
func revisionFor(s *Scene, w *change.Write, t *change.Timeline) *change.Reconciliation {
	_, tool := applier(w)
	if r := revisionAt(s, w, t); r != nil && underWay(s, r, w) && delivered(s, w, r, tool) {
		return r
	}
	return nil
}

func corrects(s *Scene, w *change.Write) bool { return Drift(s, w) != nil }

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
func revisionAt(s *Scene, w *change.Write, t *change.Timeline) *change.Reconciliation {
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

// uncertain reports whether author and name do not agree. A hook does not name its release. Without an audit log, the
// author of a deletion is unknown.
func uncertain(s *Scene, w *change.Write, _ *change.Reconciliation) bool {
	to, _ := applier(w)
	return to == kind.AnyRelease(to.Namespace) || w.Manager == "" && userOf(s, w) == ""
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
	if r := revisionAt(s, w, named[0]); r != nil && underWay(s, r, w) {
		return nil
	}
	return named[0]
}

// linkRevision is the reason of a link to the publication of an applied revision.
const linkRevision = "revision"

// publishers returns the sources of w's object.
func publishers(s *Scene, w *change.Write) []*change.Timeline {
	if w.Revision() == "" {
		return nil
	}
	var out []*change.Timeline
	for _, r := range w.Version.Relations {
		if r.Type == object.Source {
			out = append(out, s.Known.Named(r.To)...)
		}
	}
	return out
}

// publication returns the change in which the source published the revision that w begins, or nil.
func publication(s *Scene, w *change.Write, source *change.Timeline) *change.Reconciliation {
	id := w.Revision()
	return instantBefore(s, w, source, func(r *change.Reconciliation) bool { return r.Revision() == id })
}

// publishedFor is publication, or nil if an open change of w's object is nearer.
func publishedFor(s *Scene, w *change.Write, source *change.Timeline) *change.Reconciliation {
	if itself(s, w) && !s.Placed.UnderWay(w).BeganRevision() {
		return nil
	}
	return publication(s, w, source)
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
	return slices.ContainsFunc(publishers(s, w), func(t *change.Timeline) bool {
		return slices.ContainsFunc(t.Versions, func(v *history.Version) bool {
			return v.Revision != nil && v.Revision.ID == id
		})
	})
}
