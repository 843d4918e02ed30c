// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Event is one occurrence of a Kubernetes Event. Its resourceVersion identifies it.
type Event struct {
	*Notice
	// ResourceVersion and Foreign are as in Version.
	ResourceVersion, Foreign uint64
	Count                    int32
	// Exact means that Stamp has microseconds. Otherwise it has whole seconds.
	Exact bool
	// Listed means that only a list showed the occurrence.
	Listed bool
	// HandedOut means that Take has handed out the occurrence, or that Amendments will.
	HandedOut bool
	// Stamp is the timestamp in the Event.
	Stamp time.Time
	// Seen is the time of the observation.
	Seen time.Time
	// Related is the related object and the reporter; nil without such an object.
	Related *Related
}

// Related is the related object of an Event, by its UID, and the reporter of the Event.
type Related struct {
	UID types.UID
	// Component is the name that the reporter gives. Manager is its field manager, or "".
	Component, Manager string
}

// Notice is the content of an Event. Events of many objects have the same content.
type Notice struct {
	Type      string
	Reason    string
	FieldPath string
	Note      string
}

// Occurrence returns the kept part of the Event in o.
func (s *Shared) Occurrence(o *observation.Observation) *Event {
	e := o.Event
	kept := &Event{
		Notice: s.notices.share(Notice{Type: e.Type, Reason: e.Reason, FieldPath: e.FieldPath, Note: e.Note}, nil),
		Count:  e.Count,
		Seen:   o.Seen,
		Listed: o.Listed,
	}
	kept.ResourceVersion, kept.Foreign = split(e.ResourceVersion, e.Order)
	// An Event may relate objects of one namespace only: its author has no rights in another one.
	if r := e.Related; r != nil && r.UID != "" && (r.Namespace == "" || e.Regarding.Namespace == "" ||
		r.Namespace == e.Regarding.Namespace) {
		kept.Related = &Related{e.Related.UID, s.str(e.Component), s.str(e.Manager)}
	}
	switch {
	case !e.Time.IsZero() && e.Count <= 1:
		kept.Exact, kept.Stamp = true, e.Time
	case !e.Last.IsZero():
		kept.Stamp = e.Last
	default:
		kept.Stamp = e.First
	}
	return kept
}

// At returns the time of the occurrence.
func (e *Event) At() Moment {
	if e.Exact {
		return Moment{Lo: e.Stamp, Hi: e.Stamp, Exact: span.TimeEvent}
	}
	return Moment{Hi: e.Seen, Live: !e.Listed}.Within(e.Stamp)
}

// Key identifies the occurrence among the amendments of its object. A resourceVersion belongs to
// one Event only.
func (e *Event) Key() string { return "event/" + strconv.FormatUint(e.ObjectVersion(), 10) }
