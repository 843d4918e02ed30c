// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// MaxClaims bounds the claims about one reconciliation.
const MaxClaims = 8

// Revisable are the claims about an object that a later version of it may still revise. It has at least one.
type Revisable struct {
	// OutcomeClaim is the newest one. The reconciliations of Earlier go on beside its own: they have other parts of the
	// desired state (rule D2). The oldest comes first.
	OutcomeClaim
	Earlier []OutcomeClaim
}

// maxRevisable bounds the claims in a Revisable.
const maxRevisable = 4

// OutcomeClaim is the newest claim about the outcome of a handed-out reconciliation that has failed or is unfinished.
type OutcomeClaim struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID
	// Number counts the claims so far; the first one is that of the handed-out span.
	Number  int
	Outcome span.Outcome
	Message string
	// Generation and Replicas are those that the change desired. An object without Pods shows nothing about a change
	// that wanted some.
	Generation int64
	Replicas   int32
	// Verb and Parts are those of the reconciliation, and RV is that of its first write.
	Verb  history.Verb
	Parts kind.Part
	RV    uint64
}

// Claims returns the claims about t that may be revised, the oldest first.
func (t *Timeline) Claims() []OutcomeClaim {
	if t.Revisable == nil {
		return nil
	}
	return append(slices.Clip(t.Revisable.Earlier), t.Revisable.OutcomeClaim)
}

// Claimed returns the claim about the reconciliation with that span, or nil.
func (t *Timeline) Claimed(id trace.SpanID) *OutcomeClaim {
	all := t.Claims()
	if i := slices.IndexFunc(all, func(c OutcomeClaim) bool { return c.SpanID == id }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Claim adds c to the claims about t, in place of one about the same reconciliation. It returns the oldest of too many,
// which c replaces, or nil.
func (t *Timeline) Claim(c *OutcomeClaim) (dropped *OutcomeClaim) {
	all := t.Claims()
	if i := slices.IndexFunc(all, func(one OutcomeClaim) bool { return one.SpanID == c.SpanID }); i >= 0 {
		all[i] = *c
	} else if all = append(all, *c); len(all) > maxRevisable {
		dropped, all = &all[0], all[1:]
	}
	t.Revisable = revisable(all)
	return dropped
}

// Settle removes the claim about the reconciliation with that span.
func (t *Timeline) Settle(id trace.SpanID) {
	t.Revisable = revisable(slices.DeleteFunc(t.Claims(), func(c OutcomeClaim) bool { return c.SpanID == id }))
}

func revisable(all []OutcomeClaim) *Revisable {
	n := len(all) - 1
	if n < 0 {
		return nil
	}
	return &Revisable{OutcomeClaim: all[n], Earlier: all[:n:n]}
}

// claimed reports whether r is a stand-in for a reconciliation with a claim, beside the last one of its object.
func (r *Reconciliation) claimed() bool {
	return !r.Instant && r.SpanID != r.Timeline.Past.SpanID
}

// WantsPods reports whether v is a workload with replicas.
func WantsPods(v *history.Version) bool {
	return v != nil && v.Workload != nil && v.Workload.Replicas > 0
}

// Revises reports whether a claim with that outcome may follow c: a failure after no result, and a success after
// either.
func (c *OutcomeClaim) Revises(o span.Outcome) bool {
	if c.Number >= MaxClaims {
		return false
	}
	return o == span.Converged || o == span.Deleted || o == span.Failed && c.Outcome == span.Unfinished
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
