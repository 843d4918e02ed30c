// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// TestConvergedThenWorse: a Deployment converges, and its container crashes three times then. Lists, `lifeline why` and
// the header have that beside the outcome, which stays, also after a kill.
func TestConvergedThenWorse(t *testing.T) {
	ns := bench.Namespace(t)
	c := client(t)
	s := bench.Server(t, harness.ServerOptions{})
	s.Start(t)
	web := deployment("web", 1)
	if _, err := c.AppsV1().Deployments(ns).Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	of := s.TraceOf(t, ns, "web")
	list := func() harness.Summary {
		for _, sum := range s.List(t, url.Values{"namespace": {ns}, "kind": {"Deployment"}}) {
			if sum.TraceID == of.ID {
				return sum
			}
		}
		return harness.Summary{}
	}
	if sum := list(); sum.Outcome != "converged" || sum.Aftermath.Text != "" {
		t.Fatalf("at its convergence: %+v", sum)
	}
	pods := bench.MustKubectl(t, "", "-n", ns, "get", "pods", "-o", "name")
	bench.MustKubectl(t, "", "-n", ns, "annotate", strings.TrimSpace(pods), "lab.lifeline.dev/run=1s",
		"lab.lifeline.dev/exit-code=137", "lab.lifeline.dev/backoff=1s")
	harness.Eventually(t, "a first crash in the list", func() bool { return list().Aftermath.Text != "" })
	s.Kill(t)
	s.Start(t)
	harness.Eventually(t, "three restarts in the list", func() bool { return list().Aftermath.Restarts >= 3 })
	if sum := list(); sum.Outcome != "converged" || sum.Was != "" ||
		!strings.Contains(sum.Aftermath.Text, ": container app exited with 137") {
		t.Errorf("afterwards: %+v", sum)
	}
	server := []string{"-n", ns, "--server", "http://" + s.APIAddress()}
	for want, args := range map[string][]string{
		"converged, then worse": {"ls", "-o", "wide"}, "since then ": {"why", "deployment/web"},
		"; since then ": {"trace", "deployment/web"},
	} {
		got := bench.Exec(t, append(args, server...)...)
		if !strings.Contains(got.Stdout, want) || !strings.Contains(got.Stdout, " container app exited with 137") {
			t.Errorf("lifeline %s: %d\n%s%s", args[0], got.Code, got.Stdout, got.Stderr)
		}
	}
	s.Stop(t)
}
