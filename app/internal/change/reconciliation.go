// SPDX-License-Identifier: Apache-2.0

package change

import (
	"cmp"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Reconciliation is the way of one object to one desired state, within one trace.
type Reconciliation struct {
	Timeline *Timeline
	Lineage  *Lineage

	// Parent is the reconciliation that caused this one, or nil.
	Parent *Reconciliation
	// Above is the parent span without a Parent: the root of a run, or a context from outside.
	// Remote is set for the latter.
	Above    trace.SpanID
	Remote   bool
	Evidence span.Evidence
	Links    []span.Link

	Verb history.Verb
	// Took are the parts of the desired state changed by its writes. Parts are those of them that
	// no later write of another trace has changed.
	Took, Parts kind.Part
	// Writes are the writes to desired state, in order.
	Writes []*Write
	// Notes are writes to observed state and bookkeeping, of the object or of its owners.
	Notes []*Write
	// Heals is the lost object that this one replaces, or nil.
	Heals *Timeline
	// Refused are the writes that the API server refused during the reconciliation: to the object,
	// or to a future dependant.
	Refused []Refused
	// Start is the start of its span; nil until derived.
	Start *history.Moment

	// arrived is the first converged version for the parts arrivedParts. The search begins at the
	// version of the write ArrivedFrom; see ConvergedBy.
	arrived      *history.Version
	ArrivedFrom  *Write
	arrivedParts kind.Part
	// Superseded is the write of another trace that replaced this reconciliation, or nil.
	Superseded *Write
	// Next is the first write of the object's next reconciliation, or nil. It may be set without
	// Superseded.
	Next *Write
	// Activity is the time of the last write by this reconciliation, or by one below it.
	Activity time.Time
	// Progressed is the time of the last progress of this reconciliation, or of one below it.
	// Package lifecycle decides what progress is.
	Progressed time.Time
	// Stages are the digests of its different statuses, in the order of observation (see
	// history.Version.Stage).
	Stages []uint64
	SpanID trace.SpanID
	// Admitted means that admission gave the SpanID. Otherwise it is derived.
	Admitted bool
	Children []*Reconciliation
	// Folded marks a stand-in for a reconciliation that has only its name left.
	Folded bool
	// Published is the ID of the published revision of a Folded one.
	Published string
	// Instant means that the change holds as soon as it is stored, such as a change of metadata
	// alone.
	Instant bool
	// Ended is the end of the reconciliation, and Done means that it has ended. Concluded means
	// that both are derived.
	Ended     Ending
	Done      bool
	Concluded bool
}

// First returns the first write to desired state.
func (r *Reconciliation) First() *Write { return r.Writes[0] }

// Last returns the last write to desired state.
func (r *Reconciliation) Last() *Write { return r.Writes[len(r.Writes)-1] }

// Wrote adds w, a write to desired state.
func (r *Reconciliation) Wrote(w *Write) {
	w.Fate, w.Reconciliation = Traced, r
	r.Writes = append(r.Writes, w)
}

// Note adds w, any other write.
func (r *Reconciliation) Note(w *Write) {
	w.Fate, w.Reconciliation = Step, r
	if r.Notes == nil {
		r.Notes = make([]*Write, 0, 8) // a Pod has no more of them, as a rule
	}
	r.Notes = append(r.Notes, w)
}

// OpenAt reports whether r was still under way just before w, a write by another author. An opaque
// kind (judge.Opaque) stays open for quiet after its last activity.
func (r *Reconciliation) OpenAt(w *Write, quiet time.Duration) bool {
	switch {
	case r.Superseded != nil, r.Instant:
		return false
	case r.Verb == history.Deleted:
		return true // its dependants are part of it
	case r.ConvergedBy(w.RV) == nil:
		return true
	}
	return judge.Opaque(r.Timeline.Last()) && w.At.At().Sub(r.Activity) <= r.Quiet(quiet)
}

// Quiet returns the time for which an opaque object still counts as being reconciled after its last
// activity. otherwise is that of kinds without one of their own.
func (r *Reconciliation) Quiet(otherwise time.Duration) time.Duration {
	return cmp.Or(r.Timeline.Kind().Quiet, otherwise)
}

// ID returns the ID of the span of r. It derives the ID unless it is set.
func (r *Reconciliation) ID() trace.SpanID {
	if !r.SpanID.IsValid() {
		r.SpanID = span.DeriveID(r.Lineage.ID, string(r.Timeline.Ref.UID), "reconcile", r.Verb.String(),
			r.First().Which())
	}
	return r.SpanID
}

// Which distinguishes the writes of one verb to one object, for every observer alike (rules I2 to
// I4). An update is named by its raised generation, or else by its resourceVersion.
func (w *Write) Which() string {
	switch w.Verb {
	case history.Deleted:
		return ""
	case history.Created:
		return "1"
	}
	if g := w.raised(); g > 0 {
		return strconv.FormatInt(g, 10)
	}
	return "@" + strconv.FormatUint(w.ObjectVersion(), 10)
}

// raised returns the generation that an update raised, or 0. A first version from a list raised its
// generation at some time.
func (w *Write) raised() int64 {
	var generation, before int64
	switch {
	case w.Version != nil:
		generation = w.Version.Generation
	case w.Request != nil:
		generation = w.Request.Generation
	case w.Audit != nil:
		generation = w.Audit.Generation
	}
	if w.Previous != nil {
		before = w.Previous.Generation
	} else if i, _ := w.Timeline.Position(w.RV); i > 0 {
		before = w.Timeline.Versions[i-1].Generation
	}
	if generation <= before {
		return 0
	}
	return generation
}

// Of returns a stand-in for r on the timeline t, with w as its only write. w belongs to r.
func (r *Reconciliation) Of(t *Timeline, w *Write) *Reconciliation {
	return &Reconciliation{
		Timeline: t,
		Lineage:  r.Lineage,
		SpanID:   r.ID(),
		Verb:     w.Verb,
		Activity: r.Lineage.Latest,
		Writes:   []*Write{w},
		Done:     true,
	}
}

// Link returns a link from another trace to r, with the reason why.
func (r *Reconciliation) Link(why string) span.Link {
	return span.Link{TraceID: r.Lineage.ID, SpanID: r.ID(), Reason: why}
}

// Ending is the end of a reconciliation: its time, outcome and message. It is zero before the end.
type Ending struct {
	At      history.Moment
	Outcome span.Outcome
	Message string
	// Unseen means that only the request was observed.
	Unseen bool
}

// Heard returns the time of the last observation of a write of r.
func (r *Reconciliation) Heard() time.Time {
	var at time.Time
	for _, w := range r.Writes {
		at = history.Later(at, w.Heard())
	}
	return at
}

// Began returns the second of the first write of r, or zero if it is unknown.
func (r *Reconciliation) Began() time.Time {
	switch {
	case !r.Folded:
		return r.First().At.At().Truncate(time.Second)
	case r.Timeline.Past.Began > 0:
		return time.Unix(r.Timeline.Past.Began, 0)
	}
	return time.Time{}
}

// Second returns the second of the first write of r by the timestamps of the object, in Unix seconds, or 0 if
// it is unknown.
func (r *Reconciliation) Second() int64 {
	if r.Folded {
		return r.Timeline.Past.Began
	}
	return r.First().Second()
}

// Attempt reports whether an object above r converged after the failure of r, or is a Job that has not ended. Then
// r was an attempt, and another one succeeded or follows.
func (r *Reconciliation) Attempt() bool {
	failed := r.FailedBefore(^uint64(0))
	if failed == nil {
		return false
	}
	for p := r.Parent; p != nil; p = p.Parent {
		if kind.Job.Is(p.Timeline.Ref.Kind) && goesOn(p.Timeline) {
			return true
		}
		if p.Done && p.Ended.Outcome == span.Converged && p.arrived != nil &&
			p.arrived.ResourceVersion > failed.ResourceVersion {
			return true
		}
	}
	return false
}

// goesOn reports whether the object of t has neither converged nor failed, and is not deleted.
func goesOn(t *Timeline) bool {
	v := t.Last()
	return v != nil && t.Removal == nil && v.Deleting.IsZero() && !judge.Converged(v) && judge.Failure(v) == ""
}

// Depth returns the number of reconciliations above r.
func (r *Reconciliation) Depth() int {
	n := 0
	for p := r.Parent; p != nil; p = p.Parent {
		n++
	}
	return n
}

// Beside links two concurrent reconciliations of one object in different traces.
func Beside(r, by *Reconciliation) {
	if r.Lineage != by.Lineage {
		r.Links = append(r.Links, by.Link(linkConcurrent))
		by.Links = append(by.Links, r.Link(linkConcurrent))
	}
}

// linkConcurrent is the reason of a link between concurrent reconciliations of one object.
const linkConcurrent = "concurrent"
