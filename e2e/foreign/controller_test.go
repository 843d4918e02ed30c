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

// traced starts the controller with tracing, and returns the receiver of its spans.
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

// start installs agent-sandbox, and runs its controller until the test ends. An empty endpoint
// means no tracing.
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

// awaitWhole waits until the spans of the command and the controller's spans of the trace are
// complete: the target of each parent and link is among them.
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

// carried returns the traceparent of an object, and its trace ID.
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
		t.Fatalf("the annotation of %s is not a JSON map of headers: %q: %v", object, text, err)
	}
	parent = headers["traceparent"]
	fields := strings.Split(parent, "-")
	if len(fields) != 4 {
		t.Fatalf("%s has no traceparent: %q", object, text)
	}
	return parent, fields[1]
}

// template returns the manifest of a minimal SandboxTemplate.
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

// claim returns the manifest of a SandboxClaim for the template; annotation is a line of YAML, or
// empty.
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
