// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"math"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byFailure ends a reconciliation whose object reports a permanent failure.
func byFailure(_ *Endings, r *change.Reconciliation) (change.Ending, state) {
	message := r.Failure(r.Timeline.Last())
	if message == "" {
		return change.Ending{}, undecided
	}
	at := history.Arrival(r.FailedBefore(math.MaxUint64))
	if !r.Last().Arrived.IsZero() {
		at = history.Whole(r.Last().Arrived)
	}
	return change.Ending{At: at, Outcome: span.Failed, Message: message}, ended
}

// withParent ends a reconciliation with its parent, if that has failed or made no progress: the parent does not wait
// for it any more.
func withParent(e *Endings, r *change.Reconciliation) (change.Ending, state) {
	up := r.Parent
	if up == nil || up.Verb == history.Deleted || r.Applied() {
		return change.Ending{}, undecided
	}
	e.Conclude(up)
	if !up.Done || up.Ended.Outcome != span.Failed && up.Ended.Outcome != span.Unfinished {
		return change.Ending{}, undecided
	}
	return change.Ending{
		At: up.Ended.At, Outcome: span.Unfinished, Message: e.reasons.Of(r.Timeline).Text,
	}, ended
}

// byCrashLoop ends the reconciliation of a workload without a lasting version, once a Pod below it crashes again and
// again. Its controller has seen it complete, and will declare no failure.
func byCrashLoop(e *Endings, r *change.Reconciliation) (change.Ending, state) {
	last := r.Timeline.Last()
	if last == nil || last.Workload == nil || kind.Job.Is(last.Kind) || r.ConvergedBy(until(r)) == nil {
		return change.Ending{}, undecided
	}
	for _, p := range e.podsOf(r) {
		if v := p.Last(); p.Removal == nil && hopeless(v) {
			end := change.Ending{At: history.Arrival(v), Outcome: span.Failed, Message: "does not stay available"}
			return end, ended
		}
	}
	return change.Ending{}, undecided
}

// byHopelessPod ends the reconciliation of a Pod that will not become ready, if no controller will report its failure.
func byHopelessPod(e *Endings, r *change.Reconciliation) (change.Ending, state) {
	last := r.Timeline.Last()
	if !hopeless(last) || !e.alone(r) {
		return change.Ending{}, undecided
	}
	return change.Ending{At: history.Arrival(last), Outcome: span.Failed, Message: reason.Of(last, nil).Text}, ended
}

// byPatience ends a reconciliation that has made no progress for too long (rule L9).
func byPatience(e *Endings, r *change.Reconciliation) (change.Ending, state) {
	last := r.Timeline.Last()
	if last == nil || !e.clock.Passed(r.Progressed, e.opts.Patience) {
		return change.Ending{}, open
	}
	return change.Ending{
		At:      history.Moment{Hi: last.Seen, Live: true},
		Outcome: span.Unfinished,
		Message: e.reasons.Of(r.Timeline).Text,
	}, ended
}

// persistent is the number of restarts after which a Pod in a crash loop has failed although its controller would
// replace it: the kubelet has waited for more than two minutes in all.
const persistent = 5

// alone reports whether no controller will declare that r failed: r has no parent that goes on. The controller of a Pod
// that heals a loss declares nothing either, but the Pod gets time.
func (e *Endings) alone(r *change.Reconciliation) bool {
	last := r.Timeline.Last()
	switch {
	case last == nil:
		return false
	case object.ControllerOf(last.Owners) != nil:
		return r.Parent == nil && restarts(last) >= persistent
	case r.Parent == nil:
		return true
	}
	e.Conclude(r.Parent)
	return r.Parent.Done
}

// restarts returns the highest number of restarts of a container.
func restarts(v *history.Version) int32 {
	n := int32(0)
	if v.Pod != nil {
		for _, c := range v.Pod.Containers {
			n = max(n, c.Restarts)
		}
	}
	return n
}

// FailedBefore returns the first version of a failure of r before the resourceVersion rv: of a declared
// one, or of a hopeless Pod. It is nil if there is none.
func (e *Endings) FailedBefore(r *change.Reconciliation, rv uint64) *history.Version {
	if v := r.FailedBefore(rv); v != nil {
		return v
	}
	return e.hopelessBefore(r, rv)
}

// hopelessBefore returns the first version before the resourceVersion rv in which the Pod of r was
// hopeless. It is nil if there is none, or if the parent was replaced before it converged.
func (e *Endings) hopelessBefore(r *change.Reconciliation, rv uint64) *history.Version {
	if !e.alone(r) || r.Parent != nil && r.Parent.Ended.Outcome != span.Converged {
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
	if v == nil || v.Pod == nil {
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
