// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// MaxClaims bounds the claims about one reconciliation.
const MaxClaims = 8

// Revisable is the newest claim about the outcome of a handed-out reconciliation that has failed or is unfinished. A
// later version of its object may still revise it.
type Revisable struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID
	// Number counts the claims so far; the first one is that of the handed-out span.
	Number  int
	Outcome span.Outcome
	Message string
	// Wanted means that the object wanted Pods then. Without them it shows nothing about the change.
	Wanted bool
}

// WantsPods reports whether v is a workload with replicas.
func WantsPods(v *history.Version) bool {
	return v != nil && v.Workload != nil && v.Workload.Replicas > 0
}

// Revises reports whether a claim with that outcome may follow r: a failure after no result, and a success after
// either.
func (r *Revisable) Revises(o span.Outcome) bool {
	if r.Number >= MaxClaims {
		return false
	}
	return o == span.Converged || o == span.Deleted || o == span.Failed && r.Outcome == span.Unfinished
}

// Revisable reports whether a later version of its object may revise the end of r.
func (r *Reconciliation) Revisable() bool {
	return r.Done && !r.Instant && !r.Ended.Unseen && r.Superseded == nil &&
		(r.Timeline.Removal == nil || r.Verb == history.Deleted) &&
		(r.Ended.Outcome == span.Failed || r.Ended.Outcome == span.Unfinished)
}

// Blocks reports whether uid is in Blocking.
func (t *Taken) Blocks(uid types.UID) bool { return slices.Contains(t.Blocking, uid) }

// Unblock removes uid from the objects in Blocking. It reports whether it was there.
func (t *Taken) Unblock(uid types.UID) bool {
	i := slices.Index(t.Blocking, uid)
	if i >= 0 {
		t.Blocking = slices.Delete(slices.Clone(t.Blocking), i, i+1)
	}
	return i >= 0
}
