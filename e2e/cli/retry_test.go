// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// retried is a Job whose Pods run for eight seconds.
const retried = `apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  backoffLimit: 1
  template:
    metadata: {annotations: {lab.lifeline.dev/run: 8s}}
    spec:
      restartPolicy: Never
      containers: [{name: app, image: "app:1"}]
`

// TestJobRetry: a run has converged if the second Pod of its Job succeeds. It shows the failed attempt.
func TestJobRetry(t *testing.T) {
	t.Parallel()
	ns := bench.Namespace(t)
	p := bench.Begin(t, harness.Call{
		Args: []string{"run", "-o", "json", "--", "kubectl", "-n", ns, "apply", "-f", "-"}, Stdin: retried,
	})
	var pod string
	harness.Eventually(t, "the first Pod", func() bool {
		pod = strings.TrimSpace(bench.MustKubectl(t, "", "-n", ns, "get", "pods", "-o", "name"))
		return pod != ""
	})
	bench.MustKubectl(t, "", "-n", ns, "annotate", pod, "lab.lifeline.dev/exit-code=1")
	r := p.Wait(t)
	if r.Code != 0 {
		t.Fatalf("got exit code %d, want 0\n%s\n%s", r.Code, r.Stderr, r.Stdout)
	}
	got := map[string]int{}
	for _, tr := range harness.Parse(t, r).Traces {
		for _, s := range tr.Spans {
			if s.Name == "run" || s.Name == "reconcile Job" || s.Name == "reconcile Pod" {
				got[s.Name+" "+s.Outcome()]++
			}
		}
	}
	want := map[string]int{
		"run converged": 1, "reconcile Job converged": 1, "reconcile Pod failed": 1, "reconcile Pod converged": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
