// SPDX-License-Identifier: Apache-2.0

// Package ending finds when and how each reconciliation ends, by the rules of one ordered list (below), one file a
// family. It also has the reasons of objects that have not their desired state, and the place of refused writes:
// both depend on what has ended.
package ending

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

// Endings concludes reconciliations. All writes have been placed.
type Endings struct {
	known   index.View
	trail   *trail.Trail
	clock   *Clock
	reasons *Reasons
	opts    change.Options
}

// New returns Endings at the time of the clock.
func New(known index.View, tr *trail.Trail, c *Clock, rs *Reasons, o change.Options) *Endings {
	return &Endings{known: known, trail: tr, clock: c, reasons: rs, opts: o}
}

// state is the result of a rule.
type state int

const (
	// undecided means that a later rule decides.
	undecided state = iota
	// open means that the reconciliation goes on.
	open
	// ended means that it has ended.
	ended
)

// rule decides about some reconciliations. The ending is zero unless the state is ended.
type rule func(e *Endings, r *change.Reconciliation) (change.Ending, state)

// rules are all rules in order. The first one that decides counts: what the object has reached precedes what it has
// failed to reach.
var rules []rule

func init() { // a rule about a parent or a child applies all rules
	rules = []rule{
		byDeletion,    // C3b, L6: deletion.go
		byLoss,        // of a Node: instant.go
		byStorage,     // of an instant change: instant.go
		byConvergence, // converged.go
		byReplacement, // D2: replaced.go
		byRemoval,     // replaced.go
		unseen,        // only its request was observed: replaced.go
		byFailure,     // failed.go
		withParent,    // failed.go
		byCrashLoop,   // failed.go
		byHopelessPod, // failed.go
		byPatience,    // L9: failed.go
	}
}

// Conclude derives the end of r, if r has ended.
func (e *Endings) Conclude(r *change.Reconciliation) {
	if r.Concluded {
		return
	}
	r.Concluded = true
	for _, by := range rules {
		end, s := by(e, r)
		if s != undecided {
			r.Ended, r.Done = end, s == ended
			return
		}
	}
}

// ConcludeAll derives the ends of all reconciliations.
func (e *Endings) ConcludeAll(lines map[trace.TraceID]*change.Lineage) {
	for _, l := range lines {
		for _, r := range l.Reconciliations {
			e.Conclude(r)
		}
	}
}

// afterEffects returns the later one of the time at and the ends of all children. It is open while one of them is.
func (e *Endings) afterEffects(r *change.Reconciliation, at history.Moment) (history.Moment, state) {
	for _, c := range r.Children {
		e.Conclude(c)
		if !c.Done {
			return history.Moment{}, open
		}
		if c.Ended.At.At().After(at.At().Time) {
			at = c.Ended.At
		}
	}
	return at, ended
}

// end returns the ending at the time at, unless the state is open.
func end(at history.Moment, outcome span.Outcome, s state) (change.Ending, state) {
	if s != ended {
		return change.Ending{}, s
	}
	return change.Ending{At: at, Outcome: outcome}, ended
}
