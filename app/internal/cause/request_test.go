// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline"
)

// TestByRequest: a request of a command belongs to the trace of the command.
func TestByRequest(t *testing.T) {
	testRule(t, plain(byRequest), map[string]ruleCase{
		"Command": {"the command made the request", func(c *cluster) {
			c.run(traceA)
			c.requested(c.store("web", deployment(1)), traceA)
		}, "below span ff of trace aaaa (request)"},
		"Unknown command": {"the context is that of another trace", func(c *cluster) {
			c.run(traceA)
			c.requested(c.store("web", deployment(1)), traceB)
		}, "no cause"},
		"No request": {"nothing shows the request", func(c *cluster) {
			c.run(traceA)
			c.store("web", deployment(1))
		}, "no cause"},
		"New context": {"the context on the object is a link", func(c *cluster) {
			c.run(traceA)
			c.requested(c.store("web", deployment(1), carrying(traceB, 1)), traceA)
		}, "below span ff of trace aaaa (request) ~annotation bbbb"},
		"Context of the command": {"it needs no link to itself", func(c *cluster) {
			c.run(traceA)
			c.requested(c.store("web", deployment(1), carrying(traceA, 1)), traceA)
		}, "below span ff of trace aaaa (request)"},
		"Admitted": {"admission gave the span", func(c *cluster) {
			c.run(traceA)
			c.requested(c.store("web", deployment(1), admitted(traceA, 1, lifeline.BasisRequest)), traceA)
		}, "below span ff of trace aaaa (request) as admitted"},
		"Admitted elsewhere": {"admission gave a span in another trace", func(c *cluster) {
			c.run(traceA)
			c.requested(c.store("web", deployment(1), admitted(traceB, 1, lifeline.BasisRequest)), traceA)
		}, "below span ff of trace aaaa (request) ~annotation bbbb"},
		"Old context": {"it was there before", func(c *cluster) {
			c.run(traceA)
			c.store("web", deployment(1), carrying(traceB, 1)).in(traceB).begins()
			c.wait(time.Second)
			c.requested(c.store("web", by("kubectl-edit"), leaf(fieldImage)), traceA)
		}, "below span ff of trace aaaa (request)"},
	})
}
