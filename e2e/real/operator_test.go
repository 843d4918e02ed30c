// SPDX-License-Identifier: Apache-2.0

package real

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/headoperator"
	"github.com/kube-lifeline/lifeline/lab/testimage"
)

// TestOperator: one trace leads from the client through admission and two controllers of an
// operator to the containers of a kubelet. This holds for an operator with contexts, with links,
// and without the kit.
func TestOperator(t *testing.T) {
	harness.Slow(t)
	for name, tt := range map[string]struct {
		reason   string
		args     []string
		evidence string
	}{
		"parents": {"the operator's writes have the context of their cause", nil, "(annotation)"},
		"links": {
			"each reconcile is a separate trace; the lifecycle is still one",
			[]string{"--trace-links"}, "(annotation) ~annotation",
		},
		"without the kit": {"ownerReferences are the evidence", []string{"--without-kit"}, "(owner)"},
	} {
		t.Run(name, func(t *testing.T) {
			spans, err := harness.NewCollector()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(spans.Stop)
			// A new image each time, so that the node has to pull it.
			tag := strings.ReplaceAll(name, " ", "-") + ":1"
			image, err := bench.PushImage(t.Context(), tag, testimage.Spec{Seed: uint64(time.Now().UnixNano())})
			if err != nil {
				t.Fatal(err)
			}
			op := headoperator.Start(
				t,
				bench,
				headoperator.Options{Endpoint: spans.Endpoint, Rate: 1_000_000, Args: tt.args},
			)
			ns := bench.Namespace(t)
			o := bench.Oracle(t, ns)
			r := bench.Run(
				t,
				0,
				[]string{"--otlp", "grpc://" + spans.Endpoint},
				"kubectl",
				"apply",
				"-f",
				harness.File(t, fmt.Sprintf(`apiVersion: demo.lifeline.dev/v1alpha1
kind: Head
metadata: {name: web, namespace: %s}
spec: {image: %q, replicas: 1}
`, ns, image)),
			)
			bench.MustKubectl(t, "", "-n", ns, "wait", "head/web", "--for=condition=Ready", "--timeout=4m")
			o.Expect(t, r, `
run converged
  reconcile Head web converged (request)
    condition web
    create Head web (request)
    reconcile ChildA web converged `+tt.evidence+`
      condition web
      reconcile Deployment web converged `+tt.evidence+`
        reconcile ReplicaSet web-A converged `+tt.evidence+`
          reconcile Pod web-A-* converged (owner)
            [pull image, readiness, sandbox, schedule, start container]
`)
			op.Stop(t)
			for _, tr := range harness.Group(spans.Spans(func(*harness.Span) bool { return true })) {
				if slices.ContainsFunc(
					tr.Spans,
					func(s *harness.Span) bool { return s.Attributes["k8s.namespace.name"] == ns },
				) &&
					len(tr.Orphans()) > 0 {
					t.Errorf("%s: a parent is missing in trace %s:\n%s", tt.reason, tr.ID, harness.Names{}.Outline(tr))
				}
			}
		})
	}
}
