// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// TestRequests: a scale and a deletion cannot put a context on an object. Their work is in the
// trace of their command all the same: the webhook records the context of the request, and the
// audit log delivers it to the server.
func TestRequests(t *testing.T) {
	s := serve(t)
	install(t)
	ns := bench.Namespace(t)
	bench.MustKubectl(t, deployment(ns), "apply", "-f", "-")
	created := traceOf(t, s, ns)
	for _, c := range []struct {
		name, outcome string
		command       []string
	}{
		{"scale", "converged", []string{"scale", "deployment", "web", "--replicas=3"}},
		{"delete", "deleted", []string{"delete", "deployment", "web"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := harness.Parse(
				t,
				bench.Do(
					t,
					harness.Call{Args: append([]string{"run", "-o", "json", "--", "kubectl", "-n", ns}, c.command...)},
				),
			)
			if r.Code != 0 || len(r.Traces) == 0 {
				t.Fatalf("exit code %d, %d traces\n%s", r.Code, len(r.Traces), r.Stderr)
			}
			var told *harness.Trace
			harness.Eventually(t, "the server's trace of the command", func() bool {
				told = s.Traces(t, ns)[r.Traces[0].ID]
				spans := []*harness.Span{}
				if told != nil {
					spans = told.Find("reconcile Deployment", "web")
				}
				return len(spans) == 1 && spans[0].Outcome() == c.outcome
			})
			known(t, told)
			spans := told.Find("reconcile Deployment", "web")
			if told.ID == created.ID || len(spans) != 1 || spans[0].Attributes["lifeline.evidence"] != "request" ||
				spans[0].Outcome() != c.outcome {
				t.Errorf("trace of the server, want a new one with outcome %s by request:\n%s",
					c.outcome, harness.Names{}.Outline(told))
			}
		})
	}
}

// TestFallsBack: if the webhook is unreachable, a change still has its trace, from the stored
// objects.
func TestFallsBack(t *testing.T) {
	s, ca := serveAt(t, "127.0.0.1:0")
	register(t, ca) // at an address without a listener
	ns := bench.Namespace(t)
	bench.MustKubectl(t, deployment(ns), "apply", "-f", "-")
	tr := traceOf(t, s, ns)
	if len(s.Workloads(t, ns)) != 1 || len(tr.Roots()) != 1 || len(tr.Orphans()) > 0 {
		t.Errorf("the change is not one trace with one tree:\n%s", harness.Names{}.Outline(tr))
	}
	for name, how := range map[string]string{
		"reconcile Deployment": "", "reconcile ReplicaSet": "owner", "reconcile Pod": "owner",
	} {
		for _, span := range tr.Find(name, "") {
			if got := span.Attributes["lifeline.evidence"]; got != how {
				t.Errorf("%s has evidence %q, want %q", name, got, how)
			}
		}
	}
	if out := bench.MustKubectl(t, "", "-n", ns, "get", "deployment", "web", "-o", "yaml"); strings.Contains(
		out,
		lifeline.ContextKey,
	) {
		t.Errorf("the Deployment has a context, although the webhook was unreachable:\n%s", out)
	}
}

// TestWithoutPods: a webhook may exclude Pods, to save calls. Their parents are then found by
// owner.
func TestWithoutPods(t *testing.T) {
	s := serve(t, "--exclude", "pods")
	install(t)
	ns := bench.Namespace(t)
	bench.MustKubectl(t, deployment(ns), "apply", "-f", "-")
	tr := traceOf(t, s, ns)
	known(t, tr)
	for _, span := range tr.Find("reconcile Pod", "") {
		if got := span.Attributes["lifeline.evidence"]; got != "owner" {
			t.Errorf("%s has evidence %q, want owner", span.Object(), got)
		}
	}
	if out := bench.MustKubectl(t, "", "-n", ns, "get", "pods", "-o", "yaml"); strings.Contains(
		out,
		lifeline.ContextKey,
	) {
		t.Errorf("excluded Pods have a context:\n%s", out)
	}
	if out := bench.MustKubectl(t, "", "-n", ns, "get", "replicasets", "-o", "yaml"); !strings.Contains(
		out,
		lifeline.ContextKey,
	) {
		t.Errorf("the ReplicaSet has no context:\n%s", out)
	}
}
