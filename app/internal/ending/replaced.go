// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byReplacement ends a reconciliation that another trace has replaced (rule D2). A failure before that counts.
func byReplacement(e *Endings, r *change.Reconciliation) (change.Ending, state) {
	if r.Superseded == nil {
		return change.Ending{}, undecided
	}
	if v := e.FailedBefore(r, until(r)); v != nil {
		message := cmp.Or(r.Failure(v), reason.Of(v, nil).Text)
		return change.Ending{At: history.Arrival(v), Outcome: span.Failed, Message: message}, ended
	}
	return end(e.trail.Began(r.Superseded), span.Superseded, ended)
}

// byRemoval ends a reconciliation with the removal of its object.
func byRemoval(e *Endings, r *change.Reconciliation) (change.Ending, state) {
	if r.Timeline.Removal == nil {
		return change.Ending{}, undecided
	}
	return end(e.trail.Gone(r.Timeline), span.Superseded, ended)
}

// unseen keeps a reconciliation open until the version of its last write arrives. Without any version, it ends
// after a quiet time: the object may not be readable, or its resource is not watched.
func unseen(e *Endings, r *change.Reconciliation) (change.Ending, state) {
	req, last := r.Last().Request, r.Timeline.Last()
	switch {
	case last != nil && last.ResourceVersion >= r.Last().RV:
		return change.Ending{}, undecided
	case req == nil, len(r.Timeline.Versions) > 0, !e.clock.Passed(req.End, e.opts.Quiet):
		return change.Ending{}, open
	}
	return change.Ending{
		At:      history.Moment{}.Exactly(req),
		Outcome: span.Unfinished,
		Unseen:  true,
		Message: "the object was not seen after the write",
	}, ended
}
