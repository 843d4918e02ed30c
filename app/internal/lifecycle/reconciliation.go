// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// lineage is a trace in the making: what one change caused.
type lineage struct {
	id  trace.TraceID
	run *observation.Run
	// first orders lineages: the resourceVersion of the first write.
	first uint64
	recs  []*reconciliation
	// loose are writes that belong to the trace and to no reconciliation:
	// those to objects that nobody reconciles, and refused ones.
	loose []*observation.Write
	// follows are the lineages that this one heals after.
	follows []*lineage
	// latest is when its last write happened or was heard of.
	latest time.Time
}

// reconciliation is one object on its way to one desired state, within one
// trace.
type reconciliation struct {
	t    *timeline
	line *lineage

	parent *reconciliation
	// above is the span that is the parent where no reconciliation is: a
	// run's root, or a context from outside (then remote is set).
	above    trace.SpanID
	remote   bool
	evidence span.Evidence
	links    []span.Link

	verb   verb
	writes []*write // to desired state, in order
	notes  []*write // to observed state and bookkeeping, own or of owners
	heals  *timeline

	// arrived is the first version after the write arrivedFrom in which the
	// object had converged; see convergedBy.
	arrived     *version
	arrivedFrom *write
	// superseded is the write of another trace that replaced this one.
	superseded *write
	// activity is when the reconciliation, or one that it caused, last wrote.
	activity time.Time
	spanID   trace.SpanID
	children []*reconciliation
	// ended and done are the conclusion: how it ended, if it has.
	ended     end
	done      bool
	concluded bool
}

func (r *reconciliation) first() *write { return r.writes[0] }
func (r *reconciliation) last() *write  { return r.writes[len(r.writes)-1] }

// convergedBy returns the first version at or after the last write to desired
// state, and before rv, in which the object was where it wanted to be; nil if
// there is none.
func (r *reconciliation) convergedBy(rv uint64) *version {
	if from := r.last(); r.arrivedFrom != from {
		r.arrivedFrom, r.arrived = from, r.t.arrivedAfter(from)
	}
	if r.arrived == nil || r.arrived.ResourceVersion >= rv {
		return nil
	}
	return r.arrived
}

// arrivedAfter returns the first version, that of the write from or a later
// one, in which the object was where it wanted to be, or nil. Of a kind that
// does not say what it has observed, a version without conditions says nothing:
// it counts only as long as no later one says more.
func (t *timeline) arrivedAfter(from *write) *version {
	i, _ := t.position(from.rv)
	var silent *version
	for n, v := range t.versions[i:] {
		switch {
		case from.reconstructed && v == from.v:
		case !converged(v):
			silent = nil
		case !lasts(v, t.versions[i+n+1:]):
		case len(v.Conditions) > 0 || !opaque(t):
			return v
		case silent == nil:
			silent = v
		}
	}
	return silent
}

// steady is how long a Pod that was ready must not have crashed to have
// arrived: a container without a readiness probe is ready as soon as it runs.
const steady = 10 * time.Second

// lasts reports whether what v shows was more than the moment before a crash,
// by the versions after it.
func lasts(v *version, after []*version) bool {
	if v.Pod == nil {
		return true
	}
	for _, next := range after {
		if next.Pod == nil || !next.Deleting.IsZero() || next.seen.Sub(v.seen) > steady {
			return true
		}
		for _, c := range next.Pod.Containers {
			before := find(v.Pod, c.Name, false)
			if before != nil && c.Restarts > before.Restarts || exitMessage(c.Name, c.State) != "" {
				return false
			}
		}
	}
	return true
}

// openAt reports whether the reconciliation was still under way just before
// the write w of somebody else.
func (r *reconciliation) openAt(w *write, quiet time.Duration) bool {
	switch {
	case r.superseded != nil:
		return false
	case r.verb == deleted:
		return true // its dependants are part of it
	case r.convergedBy(w.rv) == nil:
		return true
	}
	return opaque(r.t) && w.at.at().Sub(r.activity) <= quiet
}

// end is when the reconciliation ended and how; zero while it goes on.
type end struct {
	at      moment
	outcome span.Outcome
	message string
	// unseen: nothing but the request was ever seen.
	unseen bool
}

// end derives how r ended. until is the last resourceVersion that counts.
func (r *reconciliation) end(d *derivation) (end, bool) {
	until := ^uint64(0)
	if r.superseded != nil {
		until = r.superseded.rv
	}
	if r.verb == deleted {
		return r.endOfDeletion(d)
	}
	if v := r.convergedBy(until); v != nil {
		if r.superseded == nil && recovering(v, d.now) {
			return end{}, false
		}
		at := arrival(v)
		if v.ResourceVersion == r.last().rv {
			at = r.last().at.exactlyEnd(r.last().req)
		} else if c := v.Condition("Ready"); c != nil && v.Pod != nil {
			at = at.within(c.Since)
		}
		if opaque(r.t) && r.superseded == nil {
			return r.endOfOpaque(d, at)
		}
		return end{at: at, outcome: span.Converged}, true
	}
	if r.superseded != nil {
		return end{at: r.superseded.at, outcome: span.Superseded}, true
	}
	if r.t.removal != nil {
		return end{at: moment{hi: r.t.removal.seen, live: !r.t.removal.listed}, outcome: span.Superseded}, true
	}
	last := r.t.last()
	if last == nil || last.ResourceVersion < r.last().rv {
		if r.last().req != nil && len(r.t.versions) == 0 && d.now.Sub(r.last().req.End) > d.opts.Quiet {
			// Nothing but the request was ever seen of this object: it may
			// not be read, or nobody watches it.
			return end{at: moment{}.exactly(r.last().req), outcome: span.Unfinished, unseen: true, message: "the object was not seen after the write"}, true
		}
		return end{}, false
	}
	if msg := failure(last); msg != "" {
		at := arrival(r.failedSince())
		return end{at: at, outcome: span.Failed, message: msg}, true
	}
	if msg := r.hopeless(d, last); msg != "" {
		return end{at: arrival(last), outcome: span.Failed, message: msg}, true
	}
	if d.now.Sub(r.activity) > d.opts.Patience && d.now.Sub(last.seen) > d.opts.Patience {
		return end{at: moment{hi: last.seen, live: true}, outcome: span.Unfinished, message: waitsFor(last)}, true
	}
	return end{}, false
}

// hopeless says why a Pod that crashes again and again will not become ready,
// once nobody waits for it any more who could give up: its owner holds that it
// has arrived, or it has none.
func (r *reconciliation) hopeless(d *derivation, last *version) string {
	if last.Pod == nil {
		return ""
	}
	if r.parent != nil {
		d.conclude(r.parent)
		if !r.parent.done {
			return ""
		}
	}
	for _, c := range last.Pod.Containers {
		// While it backs off a kubelet may show the last crash or the waiting.
		crashed := exitMessage(c.Name, c.State)
		if c.Restarts >= 1 && c.Last != nil && crashed != "" && exitMessage(c.Name, c.Last) != "" {
			return fmt.Sprintf("%s (restart count %d)", crashed, c.Restarts)
		}
		if c.Restarts >= 1 && c.State != nil && c.State.Waiting && c.State.Reason == "CrashLoopBackOff" {
			return containerWaitsFor(c)
		}
	}
	return ""
}

// recovering reports whether v is a Pod that is ready after a crash, and has not
// been long enough to trust it.
func recovering(v *version, now time.Time) bool {
	if v.Pod == nil || now.Sub(v.seen) > steady {
		return false
	}
	for _, c := range v.Pod.Containers {
		if c.Restarts > 0 && exitMessage(c.Name, c.Last) != "" {
			return true
		}
	}
	return false
}

// failedSince returns the first version of the failure that lasts to now.
func (r *reconciliation) failedSince() *version {
	since := r.t.last()
	for i := len(r.t.versions) - 1; i >= 0; i-- {
		v := r.t.versions[i]
		if v.ResourceVersion < r.last().rv || failure(v) == "" {
			break
		}
		since = v
	}
	return since
}

// endOfOpaque ends a reconciliation whose kind does not tell: with the last
// write that it caused, once it has been quiet.
func (r *reconciliation) endOfOpaque(d *derivation, at moment) (end, bool) {
	if d.now.Sub(r.activity) <= d.opts.Quiet {
		return end{}, false
	}
	if r.activity.After(at.at().Time) {
		at = moment{hi: r.activity, live: true}
	}
	return end{at: at, outcome: span.Converged}, true
}

// endOfDeletion: an object is deleted when it is gone and its dependants are
// (rules C3b and L6).
func (r *reconciliation) endOfDeletion(d *derivation) (end, bool) {
	if r.t.removal == nil {
		return end{}, false
	}
	at := moment{hi: r.t.removal.seen, live: !r.t.removal.listed}
	if r.first().verb == deleted && r.first().rv == r.t.removal.rv && r.first().req != nil {
		at = moment{lo: r.first().req.End, hi: r.first().req.End, exact: span.TimeRequest}
	}
	for _, dep := range d.dependants[r.t.ref.UID] {
		if dep.removal == nil && owns(r.t.ref.UID, dep) {
			return end{}, false
		}
	}
	for _, c := range r.children {
		d.conclude(c)
		if !c.done {
			return end{}, false
		}
		if c.ended.at.at().After(at.at().Time) {
			at = c.ended.at
		}
	}
	return end{at: at, outcome: span.Deleted}, true
}

// owns reports whether the newest version of t still names uid as an owner.
func owns(uid types.UID, t *timeline) bool {
	last := t.last()
	if last == nil {
		return false
	}
	for _, o := range last.Owners {
		if o.UID == uid {
			return true
		}
	}
	return false
}

// exactlyEnd replaces m by the time at which the request was answered.
func (m moment) exactlyEnd(req *observation.Write) moment {
	if req == nil {
		return m
	}
	return moment{lo: req.End, hi: req.End, exact: span.TimeRequest}
}

// id derives the ID of the reconciliation's span.
func (r *reconciliation) id() trace.SpanID {
	if !r.spanID.IsValid() {
		r.spanID = span.DeriveID(r.line.id, string(r.t.ref.UID), "reconcile", string(r.verb), r.first().which())
	}
	return r.spanID
}

// which tells writes of one verb to one object apart, alike in every observer:
// the generation, or a digest of the desired state; a deletion happens once.
func (w *write) which() string {
	switch {
	case w.verb == deleted:
		return ""
	case w.v != nil && w.v.Generation > 0:
		return strconv.FormatInt(w.v.Generation, 10)
	case w.v != nil:
		return "#" + strconv.FormatUint(w.v.Desired, 16)
	case w.req != nil && w.req.Generation > 0:
		return strconv.FormatInt(w.req.Generation, 10)
	}
	return "@" + strconv.FormatUint(w.rv, 10)
}

// settled reports whether the trace has ended and been quiet for the window.
func (l *lineage) settled(now time.Time, window time.Duration) bool {
	if l.run != nil && l.run.End.IsZero() {
		return false
	}
	if len(l.recs) > 0 && now.Sub(l.latest) < window {
		return false // a write that nobody reconciles needs no wait
	}
	for _, r := range l.recs {
		if !r.done {
			return false
		}
	}
	return true
}
