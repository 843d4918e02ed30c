// SPDX-License-Identifier: Apache-2.0

package supply

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline"
)

// Admission is a write as a mutating webhook is asked about it.
type Admission struct {
	Rules
	// Created says that the object does not exist yet; otherwise Before is what it
	// was like.
	Created bool
	Before  Content
	// Sent is the object as it will be stored: with what other webhooks changed.
	Sent Content
	// Controlled says that the object has a controller owner, Copied that the owner
	// writes its own context onto it: a Deployment onto its ReplicaSet.
	Controlled, Copied bool
	// Request is the context that the request came with; invalid if none.
	Request trace.SpanContext
	Now     time.Time
}

// repeatable is the age up to which a context may be of an earlier call of a
// webhook for the same write: the longest that the API server waits for one.
const repeatable = 30 * time.Second

// Decide returns what the object is to carry, and the context of ours that came
// with it and does not stand for this write, if there is one (P3g). Not ok means
// that it stays as it is.
func (a Admission) Decide() (v Verdict, stale trace.SpanContext, ok bool) {
	saved := a.Context(a.Sent.Annotations)
	if a.Request.IsValid() && SameSpan(saved, a.Request) {
		return v, stale, false // the writer has just made it
	}
	if a.Created {
		if a.Copied || a.repeatsCreate(saved) { // P3c
			return v, stale, false
		}
		v = a.Rules.Created(a.Sent, trace.SpanContext{})
	} else {
		had := a.Context(a.Before.Annotations)
		if SameSpan(saved, had) {
			saved = trace.SpanContext{}
		} else if a.repeatsUpdate(saved, had) {
			return v, stale, false
		}
		if a.Copied && isCopy(saved, had) {
			return v, stale, false
		}
		s := a.Rules
		if a.Controlled {
			s.Offer = Nothing // P3c
		}
		v = s.Updated(a.Before, a.Sent, false)
	}
	if v.Context.IsValid() {
		stale = saved
	}
	return v, stale, true
}

// isCopy reports whether what an update gives an object that carried had is its
// owner's context, copied onto it. To put back what was there would be in vain: the
// owner's controller would bring it again each time it looks. What is older than
// what was there is no copy: somebody has replaced the object by a saved one.
func isCopy(saved, had trace.SpanContext) bool {
	now, holds := lifeline.ClaimOf(saved)
	before, _ := lifeline.ClaimOf(had)
	return holds && !now.Time.Before(before.Time)
}

// Nothing is an Offer of no context.
func Nothing(lifeline.Child) trace.SpanContext { return trace.SpanContext{} }

// repeatsCreate reports whether an object that is created carries what an earlier
// call for the same create gave it: the API server calls again, with another UID,
// if a later webhook has changed the object. What the object says now need not be
// what the writer sent then, and the claim keeps telling of that. But what was
// read from a cluster, which has given it a generation, and was edited, is
// another create, be it of the same second.
func (a Admission) repeatsCreate(saved trace.SpanContext) bool {
	claim, ok := a.fresh(saved)
	return ok && (a.Sent.Generation == 0 || claim.Digest == a.Sent.Desired.Digest())
}

// repeatsUpdate is repeatsCreate for an object that carried had before. An undo
// carries what is older than the generation that the update gives.
func (a Admission) repeatsUpdate(saved, had trace.SpanContext) bool {
	claim, ok := a.fresh(saved)
	generation := a.Next(a.Before, a.Sent)
	if !ok || claim.Generation != generation {
		return false
	}
	before, _ := lifeline.ClaimOf(had)
	return generation > 0 || claim.Time.After(before.Time)
}

// fresh returns the claim beside a context that was made a moment ago, for the
// object in question, and in the trace of the request if it is of one.
func (a Admission) fresh(saved trace.SpanContext) (lifeline.Claim, bool) {
	claim, holds := lifeline.ClaimOf(saved)
	if !holds || !claim.Names(a.ID) || claim.Time.IsZero() || a.Now.Sub(claim.Time).Abs() > repeatable {
		return claim, false
	}
	return claim, !a.Request.IsValid() || a.Request.TraceID() == saved.TraceID()
}
