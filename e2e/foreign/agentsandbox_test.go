// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// apply creates a claim through lifeline and returns the result. TRACEPARENT in
// the manifest stands for the run's context.
func apply(t *testing.T, manifest string) harness.Result {
	t.Helper()
	return bench.Run(
		t,
		0,
		nil,
		"sh",
		"-c",
		`sed "s/TRACEPARENT/$TRACEPARENT/" "$0" | kubectl apply -f -`,
		harness.File(t, manifest),
	)
}

// expect compares the one trace of a claim with how it looks but for the line
// of the Sandbox.
func expect(t *testing.T, r harness.Result, sandbox string) {
	t.Helper()
	harness.Names{}.Expect(t, r, `
run converged
  reconcile SandboxClaim box converged (request)
    condition box
    create SandboxClaim box (request)
    reconcile Sandbox box converged `+sandbox+`
      condition box
      reconcile Pod box converged (owner)
        [pull image, readiness, sandbox, schedule, start container]
`)
}

// TestAgentSandbox: the controller makes a Sandbox for each SandboxClaim, and a
// Pod for each Sandbox. A claim's context goes onto its Sandbox; a claim without
// one is given that of the controller's first span for it.
func TestAgentSandbox(t *testing.T) {
	harness.Slow(t)
	spans := traced(t)
	for name, tt := range map[string]struct {
		reason  string
		context string // annotation of the claim
		sandbox string // its evidence and links
		same    bool   // the controller's spans are in the trace of the run
	}{
		"context of the client": {
			reason:  "as its client library does: the claim carries the context of who made it",
			context: `opentelemetry.io/trace-context: '{"traceparent":"TRACEPARENT"}'`,
			sandbox: "(annotation)",
			same:    true,
		},
		"context of the controller": {
			reason:  "a trace that the controller began shows what belongs to the claim; the run stays one trace, linked to it",
			sandbox: "(annotation) ~annotation",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ns := bench.Namespace(t)
			bench.MustKubectl(t, template(ns), "apply", "-f", "-")
			r := apply(t, claim(ns, tt.context))
			expect(t, r, tt.sandbox)
			if len(r.Traces) != 1 {
				t.FailNow()
			}
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
			awaitWhole(t, spans, run, trace)
		})
	}
}

// TestAgentSandboxWithoutTracing: what no annotation shows is inferred from the
// ownerReference.
func TestAgentSandboxWithoutTracing(t *testing.T) {
	harness.Slow(t)
	start(t, "")
	ns := bench.Namespace(t)
	bench.MustKubectl(t, template(ns), "apply", "-f", "-")
	expect(t, apply(t, claim(ns, "")), "(owner)")
}
