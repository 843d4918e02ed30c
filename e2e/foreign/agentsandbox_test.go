// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// TestAgentSandbox: the controller makes a Sandbox for each SandboxClaim, and a
// Pod for each Sandbox. A claim's context goes onto its Sandbox; a claim without
// one is given that of the controller's first span for it.
func TestAgentSandbox(t *testing.T) {
	c := start(t)
	for name, tt := range map[string]struct {
		reason  string
		context string // annotation of the claim
		links   string // of the Sandbox's reconciliation
		same    bool   // the controller's spans are in the trace of the run
	}{
		"context of the client": {
			reason:  "as its client library does: the claim carries the context of who made it",
			context: `opentelemetry.io/trace-context: '{"traceparent":"TRACEPARENT"}'`,
			same:    true,
		},
		"context of the controller": {
			reason: "a trace that the controller began shows what belongs to the claim; the run stays one trace, linked to it",
			links:  " ~annotation",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ns := bench.Namespace(t)
			bench.MustKubectl(t, template(ns), "apply", "-f", "-")
			r := bench.Run(t, 0, nil, "sh", "-c", `sed "s/TRACEPARENT/$TRACEPARENT/" "$0" | kubectl apply -f -`,
				harness.File(t, claim(ns, tt.context)))
			harness.Names{}.Expect(t, r, `
run converged
  reconcile SandboxClaim box converged (request)
    condition box
    create SandboxClaim box (request)
    reconcile Sandbox box converged (annotation)`+tt.links+`
      condition box
      reconcile Pod box converged (owner)
        [pull image, readiness, sandbox, schedule, start container]
`)
			run := r.Traces[0]
			for _, s := range run.Find("reconcile Sandbox", "box") {
				if got, want := s.Attributes["lifeline.context.convention"], "agent-sandbox"; got != want {
					t.Errorf("the Sandbox's context came by convention %q, want %q", got, want)
				}
			}
			above, trace := carried(t, ns, "sandboxclaim/box")
			if got, _ := carried(t, ns, "sandbox/box"); got != above {
				t.Errorf("the Sandbox carries %s, its claim %s", got, above)
			}
			if same := trace == run.ID; same != tt.same {
				t.Errorf("the objects carry trace %s, the run's is %s: %s", trace, run.ID, tt.reason)
			}
			c.awaitWhole(t, run, trace)
		})
	}
}
