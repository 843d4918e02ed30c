// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// endOf derives the end of r. until is the last resourceVersion that counts.
func (d *derivation) endOf(r *change.Reconciliation) (change.Ending, bool) {
	until := ^uint64(0)
	if r.Superseded != nil {
		until = r.Superseded.RV
	}
	if r.Verb == history.Deleted {
		return d.endOfDeletion(r)
	}
	if r.Instant {
		return d.endOfInstant(r)
	}
	if v := r.ConvergedBy(until); v != nil {
		if !r.Last().Arrived.IsZero() && v == r.Last().Version {
			return change.Ending{At: history.Whole(r.Last().Arrived), Outcome: span.Converged}, true
		}
		if r.Superseded == nil && d.recovering(v) {
			return change.Ending{}, false
		}
		at := d.Stored(r.Timeline, v)
		if v.ResourceVersion == r.Last().RV && (at.Exact == "" || r.Last().Request != nil) {
			at = r.Last().At.ExactlyEnd(r.Last().Request)
		} else if c := v.Condition("Ready"); c != nil && v.Pod != nil && r.Verb == history.Created {
			at = d.StoredIn(r.Timeline, v, c.Since)
		}
		if judge.Opaque(r.Timeline.Last()) && r.Superseded == nil {
			return d.endOfOpaque(r, at)
		}
		return d.endOfScale(r, v, at)
	}
	if r.Superseded != nil {
		if v := d.failedBefore(r, until); v != nil {
			message := cmp.Or(r.Failure(v), reason.Of(v, nil).Text)
			return change.Ending{At: history.Arrival(v), Outcome: span.Failed, Message: message}, true
		}
		return change.Ending{At: d.Began(r.Superseded), Outcome: span.Superseded}, true
	}
	if r.Timeline.Removal != nil {
		return change.Ending{At: d.Gone(r.Timeline), Outcome: span.Superseded}, true
	}
	last := r.Timeline.Last()
	if last == nil || last.ResourceVersion < r.Last().RV {
		if r.Last().Request != nil && len(r.Timeline.Versions) == 0 && d.passed(r.Last().Request.End, d.opts.Quiet) {
			// Only the request was observed. The object may not be readable, or its resource is not
			// watched.
			return change.Ending{
				At:      history.Moment{}.Exactly(r.Last().Request),
				Outcome: span.Unfinished,
				Unseen:  true,
				Message: "the object was not seen after the write",
			}, true
		}
		return change.Ending{}, false
	}
	if msg := r.Failure(last); msg != "" {
		at := history.Arrival(r.FailedBefore(^uint64(0)))
		if !r.Last().Arrived.IsZero() {
			at = history.Whole(r.Last().Arrived)
		}
		return change.Ending{At: at, Outcome: span.Failed, Message: msg}, true
	}
	if up := r.Parent; up != nil && up.Verb != history.Deleted && !r.Applied() {
		d.Conclude(up)
		if up.Done && (up.Ended.Outcome == span.Failed || up.Ended.Outcome == span.Unfinished) {
			// The parent does not wait for it any more.
			return change.Ending{
				At:      up.Ended.At,
				Outcome: span.Unfinished,
				Message: d.reasonOf(r.Timeline).Text,
			}, true
		}
	}
	if hopeless(last) && d.alone(r) {
		return change.Ending{At: history.Arrival(last), Outcome: span.Failed, Message: reason.Of(last, nil).Text}, true
	}
	return d.endOfPatience(r)
}

// endOfScale ends a reconciliation that has converged with v. A change of the number of replicas
// alone ends with the last Pod that it created or deleted.
func (d *derivation) endOfScale(r *change.Reconciliation, v *history.Version, at history.Moment) (change.Ending, bool) {
	e := change.Ending{At: at, Outcome: span.Converged}
	if v.Workload != nil && v.Workload.Paused && r.Took&kind.Template != 0 {
		e.Message = "held: the rollout is paused"
	}
	if r.Took != kind.Scale {
		return e, true
	}
	for _, c := range r.Children {
		if c.Verb != history.Deleted && c.Took != kind.Scale && c.Verb != history.Created {
			continue
		}
		d.Conclude(c)
		if !c.Done && r.Superseded == nil {
			return change.Ending{}, false
		}
		if c.Done && c.Ended.At.At().After(e.At.At().Time) {
			e.At = c.Ended.At
		}
	}
	return e, true
}

// endOfPatience ends a reconciliation that has made no progress for too long.
func (d *derivation) endOfPatience(r *change.Reconciliation) (change.Ending, bool) {
	last := r.Timeline.Last()
	if last == nil || !d.passed(r.Progressed, d.opts.Patience) {
		return change.Ending{}, false
	}
	return change.Ending{
		At:      history.Moment{Hi: last.Seen, Live: true},
		Outcome: span.Unfinished,
		Message: d.reasonOf(r.Timeline).Text,
	}, true
}

// alone reports whether r has no parent, or one that has ended: no controller will declare that r
// failed.
func (d *derivation) alone(r *change.Reconciliation) bool {
	if r.Parent == nil {
		return true
	}
	d.Conclude(r.Parent)
	return r.Parent.Done
}

// failedBefore returns the first version of a failure of r before the resourceVersion rv: of a declared
// one, or of a hopeless Pod. It is nil if there is none.
func (d *derivation) failedBefore(r *change.Reconciliation, rv uint64) *history.Version {
	if v := r.FailedBefore(rv); v != nil {
		return v
	}
	return d.hopelessBefore(r, rv)
}

// hopelessBefore returns the first version before the resourceVersion rv in which the Pod of r was
// hopeless. It is nil if there is none, or if the parent was replaced before it converged.
func (d *derivation) hopelessBefore(r *change.Reconciliation, rv uint64) *history.Version {
	if !d.alone(r) || r.Parent != nil && r.Parent.Ended.Outcome != span.Converged {
		return nil
	}
	i, _ := r.Timeline.Position(r.Last().RV)
	for _, v := range r.Timeline.Versions[i:] {
		if v.ResourceVersion >= rv {
			break
		}
		if hopeless(v) {
			return v
		}
	}
	return nil
}

// hopeless reports whether v is a Pod that will not become ready by itself, after repeated crashes.
func hopeless(v *history.Version) bool {
	if v.Pod == nil {
		return false
	}
	for _, c := range v.Pod.Containers {
		// During the back-off, the state may be the last crash or the waiting.
		crashed := judge.ExitMessage(c.Name, c.State)
		if c.Restarts >= 1 && c.Last != nil && crashed != "" && judge.ExitMessage(c.Name, c.Last) != "" {
			return true
		}
		if c.Restarts >= 1 && c.State != nil && c.State.Waiting && c.State.Reason == "CrashLoopBackOff" {
			return true
		}
	}
	return false
}

// recovering reports whether v is a Pod that is ready after a crash, but not yet for long enough to
// count as stable.
func (d *derivation) recovering(v *history.Version) bool {
	return change.Crashed(v) && !d.passed(v.Seen, judge.Steady)
}

// endOfOpaque ends a reconciliation of a kind that does not report convergence. It ends with the
// last write that it caused, after a quiet time.
func (d *derivation) endOfOpaque(r *change.Reconciliation, at history.Moment) (change.Ending, bool) {
	if !d.passed(r.Activity, r.Quiet(d.opts.Quiet)) {
		return change.Ending{}, false
	}
	if r.Activity.After(at.At().Time) {
		at = history.Moment{Hi: r.Activity, Live: true}
	}
	return change.Ending{At: at, Outcome: span.Converged}, true
}

// endOfDeletion ends a deletion when the object and its dependants are gone (rules C3b and L6).
func (d *derivation) endOfDeletion(r *change.Reconciliation) (change.Ending, bool) {
	if r.Timeline.Removal == nil {
		return d.endOfPatience(r)
	}
	at := d.Gone(r.Timeline)
	if r.First().Verb == history.Deleted && r.First().RV == r.Timeline.Removal.RV && r.First().Request != nil {
		at = history.Moment{Lo: r.First().Request.End, Hi: r.First().Request.End, Exact: span.TimeRequest}
	}
	for _, dep := range d.engine.dependantsOf(r.Timeline.Ref.UID) {
		if dep.Removal == nil && owns(r.Timeline.Ref.UID, dep) {
			return change.Ending{}, false
		}
	}
	for _, c := range r.Children {
		d.Conclude(c)
		if !c.Done {
			return change.Ending{}, false
		}
		if c.Ended.At.At().After(at.At().Time) {
			at = c.Ended.At
		}
	}
	return change.Ending{At: at, Outcome: span.Deleted}, true
}

// endOfInstant ends a change that holds as soon as it is stored, with the last effect that it has by a
// relation: a drain lasts until its Pods are gone. The loss of a Node lasts.
func (d *derivation) endOfInstant(r *change.Reconciliation) (change.Ending, bool) {
	if r.Loss() {
		return d.endOfLoss(r)
	}
	return d.withEffects(r, r.Last().At.ExactlyEnd(r.Last().Request))
}

// withEffects ends an instant change at the time at, or with its last effect after that.
func (d *derivation) withEffects(r *change.Reconciliation, at history.Moment) (change.Ending, bool) {
	for _, c := range r.Children {
		d.Conclude(c)
		if !c.Done {
			return change.Ending{}, false
		}
		if c.Ended.At.At().After(at.At().Time) {
			at = c.Ended.At
		}
	}
	return change.Ending{At: at, Outcome: span.Converged}, true
}

// owns reports whether the newest version of t still has uid among its owners.
func owns(uid types.UID, t *change.Timeline) bool {
	last := t.Last()
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
