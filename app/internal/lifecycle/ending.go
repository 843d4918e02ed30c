// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

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
	if r.instant {
		return end{at: r.last().at.exactlyEnd(r.last().req), outcome: span.Converged}, true
	}
	if v := r.convergedBy(until); v != nil {
		if !r.last().arrived.IsZero() && v == r.last().v {
			return end{at: whole(r.last().arrived), outcome: span.Converged}, true
		}
		if r.superseded == nil && d.recovering(v) {
			return end{}, false
		}
		at := d.stored(r.t, v)
		if v.ResourceVersion == r.last().rv && (at.exact == "" || r.last().req != nil) {
			at = r.last().at.exactlyEnd(r.last().req)
		} else if c := v.Condition("Ready"); c != nil && v.Pod != nil && r.verb == created {
			at = d.storedIn(r.t, v, c.Since)
		}
		if opaque(r.t) && r.superseded == nil {
			return r.endOfOpaque(d, at)
		}
		return d.endOfScale(r, v, at)
	}
	if r.superseded != nil {
		if v := r.failedBefore(until); v != nil {
			return end{at: arrival(v), outcome: span.Failed, message: failure(v)}, true
		}
		return end{at: d.began(r.superseded), outcome: span.Superseded}, true
	}
	if r.t.removal != nil {
		return end{at: d.goneAt(r.t), outcome: span.Superseded}, true
	}
	last := r.t.last()
	if last == nil || last.ResourceVersion < r.last().rv {
		if r.last().req != nil && len(r.t.versions) == 0 && d.passed(r.last().req.End, d.opts.Quiet) {
			// Nothing but the request was ever seen of this object: it may
			// not be read, or nobody watches it.
			return end{
				at:      moment{}.exactly(r.last().req),
				outcome: span.Unfinished,
				unseen:  true,
				message: "the object was not seen after the write",
			}, true
		}
		return end{}, false
	}
	if msg := failure(last); msg != "" {
		at := arrival(r.failedBefore(^uint64(0)))
		if !r.last().arrived.IsZero() {
			at = whole(r.last().arrived)
		}
		return end{at: at, outcome: span.Failed, message: msg}, true
	}
	if up := r.parent; up != nil && up.verb != deleted {
		d.conclude(up)
		if up.done && (up.ended.outcome == span.Failed || up.ended.outcome == span.Unfinished) {
			// Nobody waits for it any more.
			return end{at: up.ended.at, outcome: span.Unfinished, message: waitsFor(last)}, true
		}
	}
	if msg := r.hopeless(d, last); msg != "" {
		return end{at: arrival(last), outcome: span.Failed, message: msg}, true
	}
	return r.endOfPatience(d)
}

// endOfScale ends a reconciliation that has converged with v. One that only changed the number of
// replicas ends with the last Pod that came or went for it.
func (d *derivation) endOfScale(r *reconciliation, v *version, at moment) (end, bool) {
	e := end{at: at, outcome: span.Converged}
	if v.Workload != nil && v.Workload.Paused && r.took&kind.Template != 0 {
		e.message = "held: the rollout is paused"
	}
	if r.took != kind.Scale {
		return e, true
	}
	for _, c := range r.children {
		if c.verb != deleted && c.took != kind.Scale && c.verb != created {
			continue
		}
		d.conclude(c)
		if !c.done && r.superseded == nil {
			return end{}, false
		}
		if c.done && c.ended.at.at().After(e.at.at().Time) {
			e.at = c.ended.at
		}
	}
	return e, true
}

// endOfPatience ends what has made no progress for too long.
func (r *reconciliation) endOfPatience(d *derivation) (end, bool) {
	last := r.t.last()
	if last == nil || !d.passed(r.progressed, d.opts.Patience) {
		return end{}, false
	}
	return end{at: moment{hi: last.seen, live: true}, outcome: span.Unfinished, message: waitsFor(last)}, true
}

// hopeless returns why a Pod that crashes again and again will not become ready, or "". It asks only
// for a Pod without an owner, or with an owner that has converged: no controller will declare it failed.
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
func (d *derivation) recovering(v *version) bool {
	if v.Pod == nil {
		return false
	}
	crashed := slices.ContainsFunc(v.Pod.Containers, func(c *observation.Container) bool {
		return c.Restarts > 0 && exitMessage(c.Name, c.Last) != ""
	})
	return crashed && !d.passed(v.seen, steady)
}

// failedBefore returns the first version of the failure that lasted until the resourceVersion rv, or
// nil if there was none then.
func (r *reconciliation) failedBefore(rv uint64) *version {
	var since *version
	i, _ := r.t.position(rv)
	for i--; i >= 0; i-- {
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
	if !d.passed(r.activity, d.opts.Quiet) {
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
		return r.endOfPatience(d)
	}
	at := d.goneAt(r.t)
	if r.first().verb == deleted && r.first().rv == r.t.removal.rv && r.first().req != nil {
		at = moment{lo: r.first().req.End, hi: r.first().req.End, exact: span.TimeRequest}
	}
	for _, dep := range d.engine.dependantsOf(r.t.ref.UID) {
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
