// SPDX-License-Identifier: Apache-2.0

// Package phase derives the steps of a reconciliation as child spans: scheduling, volumes, sandbox, images,
// containers, readiness, publication and termination of a Pod, the pauses of a Job, the address of a load
// balancer, and the conditions of other kinds. It derives neither causes nor the ends of reconciliations:
// the engine gives them.
package phase

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Sources are the data outside the reconciliation.
type Sources struct {
	Times Times
	// Conclude derives whether r has ended.
	Conclude func(r *change.Reconciliation)
	// Published returns the publications of the Pod as an endpoint, in order of their Services.
	Published func(t *change.Timeline) []Publication
	// Attachments returns the attachments of the Pod's volumes to its Node.
	Attachments func(t *change.Timeline) []*change.Timeline
	// Controller returns the controller owner of the object, or nil.
	Controller func(t *change.Timeline) *object.Owner
}

// Times gives the times of writes and versions, with the best known precision.
type Times interface {
	// Start returns the start of the span of r.
	Start(r *change.Reconciliation) history.Moment
	// Began returns the time of the request of w.
	Began(w *change.Write) history.Moment
	// Stored returns the time of the storage of v.
	Stored(t *change.Timeline, v *history.Version) history.Moment
	// StoredIn is Stored within the second that starts at since, by a timestamp of the object.
	StoredIn(t *change.Timeline, v *history.Version, since time.Time) history.Moment
	// Gone returns the time of the removal of the object.
	Gone(t *change.Timeline) history.Moment
}

// Steps derives the phases of reconciliations.
type Steps struct {
	from Sources
	// pod is reused memory for the phases of one Pod.
	pod []Step
}

// New returns Steps with these sources.
func New(from Sources) Steps { return Steps{from: from} }

// Of returns the phases of r, by the kind of its object. They are valid until the next call.
func (s *Steps) Of(r *change.Reconciliation) []Step {
	last := r.Timeline.Last()
	switch {
	case last == nil:
		return nil
	case last.Pod != nil && r.Verb == history.Deleted:
		return s.endPhases(r)
	case last.Pod != nil && r.Verb == history.Created:
		return s.podPhases(r)
	case last.Pod != nil || kind.Deployment.Is(last.Kind) || kind.ReplicaSet.Is(last.Kind):
		return nil // they wait for their dependants
	case kind.Job.Is(last.Kind):
		return append(s.conditionPhases(r), s.retryPauses(r)...)
	case hasAddress(last):
		return append(s.conditionPhases(r), s.address(r)...)
	}
	return s.conditionPhases(r)
}
