// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/foreign/internal/agentsandbox"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// traced starts the controller with tracing and returns what gets its spans.
func traced(t *testing.T) *harness.Collector {
	t.Helper()
	spans, err := harness.NewCollector()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(spans.Stop)
	start(t, spans.Endpoint)
	return spans
}

// start installs agent-sandbox for one test and runs its controller as long as
// that takes; without an endpoint, without tracing.
func start(t *testing.T, endpoint string) {
	t.Helper()
	dir, err := agentsandbox.Build(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	crds := agentsandbox.CRDs(dir)
	bench.MustKubectl(t, "", "apply", "--server-side", "-f", crds)
	bench.MustKubectl(t, "", "wait", "--for=condition=Established", "-f", crds, "--timeout=4m")
	agentsandbox.Run(t, dir, bench.Kubeconfig(), endpoint)
}

// awaitWhole waits until a backend that gets the spans of the run and those of
// the controller in that trace lacks none that a parent or a link names.
func awaitWhole(t *testing.T, c *harness.Collector, run *harness.Trace, trace string) {
	t.Helper()
	harness.Eventually(t, "the controller's spans in trace "+trace, func() bool {
		spans := c.Spans(func(s *harness.Span) bool { return s.Trace == trace })
		all := harness.Trace{Spans: slices.Concat(run.Spans, spans)}
		if len(all.Find("ReconcileSandboxClaim", "")) == 0 || len(all.Find("ReconcileSandbox", "")) == 0 ||
			len(all.Orphans()) > 0 {
			return false
		}
		for _, s := range run.Spans {
			for _, l := range s.Links {
				if !slices.ContainsFunc(
					spans,
					func(s *harness.Span) bool { return s.Trace == l.Trace && s.ID == l.Span },
				) {
					return false
				}
			}
		}
		return true
	})
}

// carried is the traceparent on an object, and the trace that it names.
func carried(t *testing.T, namespace, object string) (parent, trace string) {
	t.Helper()
	text := bench.MustKubectl(
		t,
		"",
		"-n",
		namespace,
		"get",
		object,
		"-o",
		`jsonpath={.metadata.annotations.opentelemetry\.io/trace-context}`,
	)
	var headers map[string]string
	if err := json.Unmarshal([]byte(text), &headers); err != nil {
		t.Fatalf("%s carries no JSON map of headers: %q: %v", object, text, err)
	}
	parent = headers["traceparent"]
	fields := strings.Split(parent, "-")
	if len(fields) != 4 {
		t.Fatalf("%s carries no traceparent: %q", object, text)
	}
	return parent, fields[1]
}

// template is a SandboxTemplate in which nothing is special.
func template(namespace string) string {
	return fmt.Sprintf(`
apiVersion: extensions.agents.x-k8s.io/v1alpha1
kind: SandboxTemplate
metadata: {name: small, namespace: %s}
spec:
  networkPolicyManagement: Unmanaged
  podTemplate:
    spec:
      containers: [{name: agent, image: %q}]
`, namespace, bench.Image("app:v1"))
}

// claim is a SandboxClaim for it; annotation is a line of YAML, or empty.
func claim(namespace, annotation string) string {
	return fmt.Sprintf(`
apiVersion: extensions.agents.x-k8s.io/v1alpha1
kind: SandboxClaim
metadata:
  name: box
  namespace: %s
  annotations: {%s}
spec:
  warmpool: none
  sandboxTemplateRef: {name: small}
`, namespace, annotation)
}
