// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// event is one occurrence of a Kubernetes Event: the resourceVersion names it.
type event struct {
	*notice
	ResourceVersion uint64
	Count           int32
	// exact says that stamp has microseconds; it has whole seconds otherwise.
	exact  bool
	listed bool
	stamp  time.Time
	seen   time.Time
}

// notice is what an Event says; many objects' Events say the same.
type notice struct {
	Type      string
	Reason    string
	FieldPath string
	Note      string
}

// occurrence is what is kept of an Event.
func (s *shared) occurrence(o *observation.Observation) *event {
	e := o.Event
	kept := &event{
		notice:          s.notices.share(notice{Type: e.Type, Reason: e.Reason, FieldPath: e.FieldPath, Note: e.Note}, nil),
		ResourceVersion: e.ResourceVersion, Count: e.Count, seen: o.Seen, listed: o.Listed,
	}
	switch {
	case !e.Time.IsZero() && e.Count <= 1:
		kept.exact, kept.stamp = true, e.Time
	case !e.Last.IsZero():
		kept.stamp = e.Last
	default:
		kept.stamp = e.First
	}
	return kept
}

// at is when the occurrence happened.
func (e *event) at() moment {
	if e.exact {
		return moment{lo: e.stamp, hi: e.stamp, exact: span.TimeEvent}
	}
	return moment{hi: e.seen, live: !e.listed}.within(e.stamp)
}
