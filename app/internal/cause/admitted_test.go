// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// admitted puts a context from admission on the object.
func admitted(id string, n int, basis lifeline.Basis) trait {
	return func(st *state) {
		claim := lifeline.Claim{Object: identityOf(st).Hash(), Admitted: basis}
		if basis != lifeline.BasisNone {
			claim.Parent = change.ParseContext(traceParent(id, n), "").SpanID()
		}
		sc := lifeline.Admit(change.ParseContext(traceParent(id, n), ""), claim)
		st.TraceParent, st.TraceState = "00-"+id+"-"+sc.SpanID().String()+"-01", sc.TraceState().String()
	}
}

// TestByAdmission: a request with a context, and without one on its object, has its place by the audit log.
func TestByAdmission(t *testing.T) {
	asked := func(id string) func(*write) {
		return func(q *write) { q.TraceParent = traceParent(id, 7) }
	}
	scaled := all(by("kubectl-scale"), wants(3))
	testRule(t, byAdmission, map[string]ruleCase{
		"Outside": {"the trace is unknown here", func(c *cluster) {
			settledWeb(c)
			c.audited(c.store("web", scaled), "alice", "kubectl/v1.36", asked(traceA))
		}, "below span 7 of trace aaaa outside (request)"},
		"No context": {"the request had none", func(c *cluster) {
			settledWeb(c)
			c.audited(c.store("web", scaled), "alice", "kubectl/v1.36")
		}, "no cause"},
		"No request": {"the audit log does not show it", func(c *cluster) {
			settledWeb(c)
			c.store("web", scaled)
		}, "no cause"},
		"On the object": {"the write put a context on its object", func(c *cluster) {
			settledWeb(c)
			c.audited(c.store("web", scaled, carrying(traceB, 1)), "alice", "kubectl/v1.36", asked(traceA))
		}, "no cause"},
		"Invalid": {"the context is malformed", func(c *cluster) {
			settledWeb(c)
			c.audited(c.store("web", scaled), "alice", "kubectl/v1.36", func(q *write) { q.TraceParent = "00-zz" })
		}, "no cause"},
		"Handed out": {"the trace of the context was handed out long before", func(c *cluster) {
			c.handOut(traceA, epoch.Add(-time.Minute))
			settledWeb(c)
			c.audited(c.store("web", scaled), "alice", "kubectl/v1.36", asked(traceA))
		}, "no cause ~stale aaaa"},
		"Known": {"the open trace goes on with the same object", func(c *cluster) {
			c.store("web", deployment(1)).begins().in(traceA)
			c.audited(c.store("web", scaled), "alice", "kubectl/v1.36", asked(traceA))
		}, "below span 1 of trace aaaa outside (request)"},
		"Unrelated": {"the open trace has no relation to the object", func(c *cluster) {
			c.store("head", custom("Head")).begins().in(traceA)
			c.store("web", deployment(1), func(st *state) { st.Managers = nil }, by("other")).begins()
			c.audited(c.store("web", by("other"), wants(3)), "alice", "tool/v1", asked(traceA))
		}, "no cause ~unverified aaaa"},
		"Own trace handed out": {"the write keeps its own trace", func(c *cluster) {
			settledWeb(c)
			c.audited(c.store("web", scaled), "alice", "kubectl/v1.36", asked(traceA))
			c.takenOwn = true
		}, "no cause"},
	})
}
