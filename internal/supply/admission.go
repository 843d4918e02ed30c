// SPDX-License-Identifier: Apache-2.0

package supply

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline"
)

// Admission is a write in a call of a mutating webhook.
type Admission struct {
	Rules
	// Created means that the object does not exist yet. Otherwise Before is its content before the
	// write.
	Created bool
	Before  Content
	// Sent is the object to be stored, with the changes of other webhooks.
	Sent Content
	// Controlled means that the object has a controller owner. Copied means that the owner copies
	// its own context to the object, as a Deployment does with its ReplicaSets.
	Controlled, Copied bool
	// Request is the context in the request; invalid if none.
	Request trace.SpanContext
	Now     time.Time
}

// repeatable is the maximum age of a context from an earlier webhook call for the same write. The
// API server waits at most this long for a webhook.
const repeatable = 30 * time.Second

// Decide returns the verdict. stale is our earlier context on the sent object, if the verdict
// replaces it (P3g); otherwise it is invalid. If ok is false, the object stays unchanged.
func (a Admission) Decide() (v Verdict, stale trace.SpanContext, ok bool) {
	saved := a.Context(a.Sent.Annotations)
	if a.Request.IsValid() && SameSpan(saved, a.Request) {
		return v, stale, false // the writer made the context for this request
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

// isCopy reports whether saved is a copy of the owner's context, on an object that had the context
// had. Restoring had would be useless: the owner's controller would copy its context again in each
// sync. A context older than had is not a copy. In that case a saved version of the object was
// restored.
func isCopy(saved, had trace.SpanContext) bool {
	now, holds := lifeline.ClaimOf(saved)
	before, _ := lifeline.ClaimOf(had)
	return holds && !now.Time.Before(before.Time)
}

// Nothing is an Offer without a context.
func Nothing(lifeline.Child) trace.SpanContext { return trace.SpanContext{} }

// repeatsCreate reports whether saved comes from an earlier webhook call for the same create. The
// API server repeats the call, with a new UID, if a later webhook changes the object. So the object
// can differ from the request in the claim. An object with a generation was read from a cluster. If
// it was also edited, this is a different create, even within the same second.
func (a Admission) repeatsCreate(saved trace.SpanContext) bool {
	claim, ok := a.fresh(saved)
	return ok && (a.Sent.Generation == 0 || claim.Digest == a.Sent.Desired.Digest())
}

// repeatsUpdate is repeatsCreate for an update of an object with the context had. After an undo,
// the claim's generation is older than that of the update.
func (a Admission) repeatsUpdate(saved, had trace.SpanContext) bool {
	claim, ok := a.fresh(saved)
	generation := a.Next(a.Before, a.Sent)
	if !ok || claim.Generation != generation {
		return false
	}
	before, _ := lifeline.ClaimOf(had)
	return generation > 0 || claim.Time.After(before.Time)
}

// fresh returns the claim of saved. It reports whether the context is recent, was made for this
// object, and belongs to the trace of the request, if the request has one.
func (a Admission) fresh(saved trace.SpanContext) (lifeline.Claim, bool) {
	claim, holds := lifeline.ClaimOf(saved)
	if !holds || !claim.Names(a.ID) || claim.Time.IsZero() || a.Now.Sub(claim.Time).Abs() > repeatable {
		return claim, false
	}
	return claim, !a.Request.IsValid() || a.Request.TraceID() == saved.TraceID()
}
