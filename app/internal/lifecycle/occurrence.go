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
	// told says that Take has handed it out, or Amendments will.
	told  bool
	stamp time.Time
	seen  time.Time
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
		notice: s.notices.share(
			notice{Type: e.Type, Reason: e.Reason, FieldPath: e.FieldPath, Note: e.Note},
			nil,
		),
		ResourceVersion: e.ResourceVersion,
		Count:           e.Count,
		seen:            o.Seen,
		listed:          o.Listed,
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

// apart is how far an Event and a write that has no timestamp must be from each
// other before their times tell which came first.
const apart = 5 * time.Second

// follows reports whether the occurrence came after the write. The objects'
// own timestamps tell, and within one second the resourceVersions, so that every
// observer says the same, however late it saw either. The latter is the truth
// unless Events have a storage of their own. A removal has no timestamp: what is
// known of its time tells only what lies well apart.
func (e *event) follows(w *write) bool {
	second := e.stamp.Truncate(time.Second)
	stamp := w.stamp()
	at := w.at.at().Time
	switch {
	case w.rv == 0 || w.reconstructed:
		return !e.at().over(at)
	case !stamp.IsZero() && !second.IsZero() && !second.Equal(stamp):
		return second.After(stamp)
	case stamp.IsZero() && w.at.live && e.at().over(at.Add(-apart)):
		return false
	case stamp.IsZero() && second.After(at.Add(apart)):
		return true
	}
	return e.ResourceVersion > w.rv
}

// of reports whether the occurrence is one of the reconciliation: it came
// between its first write and that of the next.
func (e *event) of(r *reconciliation) bool {
	return e.follows(r.first()) && (r.next == nil || !e.follows(r.next))
}

// stamp is the second of the write as the version that it made has it, zero if
// that does not tell.
func (w *write) stamp() time.Time {
	if w.v == nil || w.verb == deleted || w.reconstructed {
		return time.Time{}
	}
	stamp := w.v.Created
	for _, entry := range w.v.Managers {
		stamp = later(stamp, entry.Time)
	}
	return stamp.Truncate(time.Second)
}

// second is stamp in Unix seconds, 0 if that is zero.
func (w *write) second() int64 {
	stamp := w.stamp()
	if stamp.IsZero() {
		return 0
	}
	return stamp.Unix()
}
