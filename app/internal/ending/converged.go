// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"math"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byConvergence ends a reconciliation with the first version in which the object has its desired state.
func byConvergence(e *Endings, r *change.Reconciliation) (change.Ending, state) {
	v := r.ConvergedBy(until(r))
	switch {
	case v == nil:
		return change.Ending{}, undecided
	case !r.Last().Arrived.IsZero() && v == r.Last().Version:
		return end(history.Whole(r.Last().Arrived), span.Converged, ended)
	case r.Superseded == nil && !e.confirmed(v):
		return change.Ending{}, open
	}
	v, s := e.lasting(r, v)
	if s == undecided || s == open && r.Superseded == nil {
		return change.Ending{}, s
	}
	at := e.convergedAt(r, v)
	if judge.Opaque(r.Timeline.Last()) && r.Superseded == nil {
		return e.opaque(r, v, at)
	}
	return e.scaled(r, v, at)
}

// until returns the last resourceVersion that counts for r.
func until(r *change.Reconciliation) uint64 {
	if r.Superseded != nil {
		return r.Superseded.RV
	}
	return math.MaxUint64
}

// convergedAt returns the time of the convergence of r with v.
func (e *Endings) convergedAt(r *change.Reconciliation, v *history.Version) history.Moment {
	at := e.trail.Stored(r.Timeline, v)
	last := r.Last()
	if last.Loose() && last.Verb == history.Updated && last.Version == v { // the effects bound the write, and not its status
		return at
	}
	if v.ResourceVersion == last.RV && (at.Exact == "" || last.Request != nil) {
		return last.At.ExactlyEnd(last.Request)
	}
	if c := v.Condition("Ready"); c != nil && v.Pod != nil && r.Verb == history.Created {
		return e.trail.StoredIn(r.Timeline, v, c.Since)
	}
	return at
}

// firstStatus is how long one of the first objects of a kind waits for its first status.
const firstStatus = 30 * time.Second

// opaque ends a reconciliation of a kind that does not report convergence. It ends with the
// last write that it caused, after a quiet time.
func (e *Endings) opaque(r *change.Reconciliation, v *history.Version, at history.Moment) (change.Ending, state) {
	wait := r.Quiet(e.opts.Quiet)
	if r.Timeline.Last().JudgedBy == observation.JudgedByNothingYet {
		wait = max(wait, firstStatus)
	}
	if !e.clock.Passed(r.Activity, wait) {
		return change.Ending{}, open
	}
	if r.Activity.After(at.At().Time) {
		at = history.Moment{Hi: r.Activity, Live: true}
	}
	return change.Ending{At: at, Outcome: span.Converged, Message: remark(v)}, ended
}

// remark returns what to add to the convergence with v: a wished pause or stop, or the doubt about an object
// that does not show its state.
func remark(v *history.Version) string {
	switch {
	case strings.HasPrefix(v.ProgressMessage, observation.Held):
		return v.ProgressMessage
	case v.JudgedBy == observation.JudgedByNothing, v.JudgedBy == observation.JudgedByNothingYet:
		return observation.Unconfirmed
	}
	return ""
}

// scaled ends a reconciliation that has converged with v. A change of the number of replicas
// alone ends with the last Pod that it created or deleted.
func (e *Endings) scaled(r *change.Reconciliation, v *history.Version, at history.Moment) (change.Ending, state) {
	out := change.Ending{At: at, Outcome: span.Converged, Message: remark(v)}
	if v.Workload != nil && v.Workload.Paused && r.Took&kind.Template != 0 {
		out.Message = "held: the rollout is paused"
	}
	if r.Took != kind.Scale {
		return out, ended
	}
	for _, c := range r.Children {
		if c.Verb != history.Deleted && c.Took != kind.Scale && c.Verb != history.Created {
			continue
		}
		e.Conclude(c)
		if !c.Done && r.Superseded == nil {
			return change.Ending{}, open
		}
		if c.Done && c.Ended.At.At().After(out.At.At().Time) {
			out.At = c.Ended.At
		}
	}
	return out, ended
}
