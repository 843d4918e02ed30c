// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// apply creates a claim with `lifeline run`. It replaces TRACEPARENT in the manifest by the context
// of that command.
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

// expect checks the only trace in r, the creation of a claim; sandbox is the evidence and links of
// the Sandbox.
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

// TestAgentSandbox: the controller creates a Sandbox for each SandboxClaim, and a Pod for each
// Sandbox. It copies a claim's context to the Sandbox. To a claim without context, it adds that of
// its first span.
func TestAgentSandbox(t *testing.T) {
	harness.Slow(t)
	spans := traced(t)
	for name, tt := range map[string]struct {
		reason  string
		context string // annotation of the claim
		sandbox string // evidence and links of the Sandbox
		same    bool   // the controller's spans are in the trace of the command
	}{
		"context of the client": {
			reason:  "like its client library, the client puts its context on the claim",
			context: `opentelemetry.io/trace-context: '{"traceparent":"TRACEPARENT"}'`,
			sandbox: "(annotation)",
			same:    true,
		},
		"context of the controller": {
			reason:  "the controller starts a trace for the claim; the trace of the command links to it",
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
				t.Errorf("the Sandbox has context %s, its claim %s", got, above)
			}
			if same := trace == run.ID; same != tt.same {
				t.Errorf("the objects have trace %s, the command %s: %s", trace, run.ID, tt.reason)
			}
			awaitWhole(t, spans, run, trace)
		})
	}
}

// TestAgentSandboxWithoutTracing: without an annotation, the ownerReference is the evidence.
func TestAgentSandboxWithoutTracing(t *testing.T) {
	harness.Slow(t)
	start(t, "")
	ns := bench.Namespace(t)
	bench.MustKubectl(t, template(ns), "apply", "-f", "-")
	expect(t, apply(t, claim(ns, "")), "(owner)")
}
