// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byEvent is rule C5: an Event by the author of w, a component, relates the object of w to another object.
// The open change of that object is the parent, if the Event came after the beginning of the change. Of
// several changes the newest is the parent, and the others are links. Without an open change, an Event after
// w gives a link to the last change.
//
// Events may be lost or late. A write whose own trace was handed out keeps that trace.
func byEvent(s *Scene, w *change.Write) (Cause, bool, []span.Link) {
	others := reported(s, w)
	if len(others) == 0 || !byComponent(s, w) || Autoscaler(s, w) != nil || handedOut(s, w) {
		return Cause{}, false, nil
	}
	var open, last []*change.Reconciliation
	for _, t := range others {
		events := reports(s, w, t)
		if r := openFor(s, w, t); r != nil && !below(r, w.Timeline) && slices.ContainsFunc(events, r.Has) {
			open = append(open, r)
			continue
		}
		after := func(e *history.Event) bool { return change.Follows(e, w) }
		if r := lastBefore(s, w, t); r != nil && !below(r, w.Timeline) && slices.ContainsFunc(events, after) {
			last = append(last, r)
		}
	}
	return newest(s, w, open, last, span.ByEvent, linkEvent)
}

// handedOut reports whether w began a trace that was handed out. A later Event does not change its cause.
func handedOut(s *Scene, w *change.Write) bool {
	_, over := s.Placed.Taken(derivedID(s, w))
	return over
}

// linkEvent is the reason of a link from a write to a change of an object that an Event relates.
const linkEvent = "event"

// reported returns the other objects of the Events about the object of w: those that it is related to, and
// those related to it. Both are in one namespace, unless one is cluster-scoped: the author of an Event could
// write any UID.
func reported(s *Scene, w *change.Write) []*change.Timeline {
	t := w.Timeline
	others := slices.Clone(s.Known.Referrers(object.UIDName(t.Ref.UID)))
	for _, r := range t.Refers() {
		if other := related(s, r); other != nil && !slices.Contains(others, other) {
			others = append(others, other)
		}
	}
	return slices.DeleteFunc(others, func(other *change.Timeline) bool {
		a, b := other.Ref.Namespace, t.Ref.Namespace
		return other == t || a != "" && b != "" && a != b
	})
}

// related returns the related object of an Event, or nil for another relation.
func related(s *Scene, r object.Relation) *change.Timeline {
	if uid, ok := r.To.UID(); ok && r.Type == object.Reported {
		return s.Known.Object(uid)
	}
	return nil
}

// reports returns the Events by the author of w that relate the object of w and that of t. If the author is
// unknown, they are about t and by its controller.
func reports(s *Scene, w *change.Write, t *change.Timeline) []*history.Event {
	authors := authors(s, w)
	if len(authors) == 0 {
		return about(t, w.Timeline, change.Reconciler(t))
	}
	return append(about(t, w.Timeline, authors...), about(w.Timeline, t, authors...)...)
}

// authors returns the names of the author of w: that in the audit log, and that of the field manager.
func authors(s *Scene, w *change.Write) []string {
	var out []string
	if userOf(s, w) != "" {
		out = append(out, AuthorOf(s.Trail.Audited(w).Write))
	}
	if actor := w.Actor(); actor != "" {
		out = append(out, actor)
	}
	return out
}

// about returns the Events about the object of t with the related object of to, by a reporter with
// one of the names. All controllers of kube-controller-manager share one field manager, so its name
// identifies no reporter.
func about(t, to *change.Timeline, names ...string) []*history.Event {
	var out []*history.Event
	for _, e := range t.Events {
		by := e.Related
		if by == nil || by.UID != to.Ref.UID {
			continue
		}
		if slices.Contains(names, by.Component) || by.Manager != change.Manager && slices.Contains(names, by.Manager) {
			out = append(out, e)
		}
	}
	return out
}

// below reports whether r, or a reconciliation above it, is one of the object of t.
func below(r *change.Reconciliation, t *change.Timeline) bool {
	for ; r != nil; r = r.Parent {
		if r.Timeline == t {
			return true
		}
	}
	return false
}
