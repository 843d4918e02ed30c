// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// serve starts a server that receives the scheduler's spans, until the test ends.
func serve(t *testing.T) *harness.Server {
	t.Helper()
	s := bench.Server(
		t,
		harness.ServerOptions{Config: fmt.Sprintf("receivers: {otlp: {grpc: {address: %q}}}\n", receiver)},
	)
	s.Start(t)
	t.Cleanup(func() { s.Stop(t) })
	return s
}

func deployment(namespace, cpu string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %s, name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: registry.example/web:1, resources: {requests: {cpu: %q}}}]
`, namespace, cpu)
}

// children returns the names of the spans below a span.
func children(tr *harness.Trace, of *harness.Span) (names []string) {
	for _, s := range tr.Spans {
		if s.Parent == of.ID {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func child(t *testing.T, tr *harness.Trace, of *harness.Span, name string) *harness.Span {
	t.Helper()
	for _, s := range tr.Spans {
		if s.Parent == of.ID && s.Name == name {
			return s
		}
	}
	t.Fatalf("%s has no child %s, but %v", of.Name, name, children(tr, of))
	return nil
}

// TestTree: below the phase schedule of each Pod of a Deployment is the scheduler's attempt, plugin
// by plugin.
func TestTree(t *testing.T) {
	s := serve(t)
	ns := bench.Namespace(t)
	bench.MustKubectl(t, deployment(ns, "100m"), "apply", "-f", "-")
	var tr *harness.Trace
	harness.Eventually(t, "the scheduler's spans of both Pods", func() bool {
		for _, tr = range s.Workloads(t, ns) {
			if len(tr.Find("scheduling attempt", "")) == 2 {
				return true
			}
		}
		return false
	})
	phases := tr.Find("schedule", "")
	if len(phases) != 2 {
		t.Fatalf("%d phases schedule", len(phases))
	}
	for _, phase := range phases {
		attempt := child(t, tr, phase, "scheduling attempt")
		if attempt.Service != "kube-scheduler" || attempt.Attributes["lifeline.evidence"] != "identity" ||
			attempt.Attributes["k8s.pod.uid"] != phase.Attributes["k8s.object.uid"] {
			t.Errorf("the attempt is of %s: %v", attempt.Service, attempt.Attributes)
		}
		if got, want := children(tr, attempt), []string{
			"binding cycle",
			"queue wait",
			"scheduling cycle",
		}; !slices.Equal(got, want) {
			t.Errorf("the attempt has %v, want %v", got, want)
		}
		cycle := child(t, tr, attempt, "scheduling cycle")
		filter := child(t, tr, cycle, "Filter")
		child(t, tr, filter, "Filter NodeResourcesFit")
		score := child(t, tr, cycle, "Score")
		if winner := score.Attributes["k8s.node.name"]; winner == "" || winner != attempt.Attributes["k8s.node.name"] {
			t.Errorf("Score chose %q, and the attempt %q", winner, attempt.Attributes["k8s.node.name"])
		}
		child(t, tr, score, "Score NodeResourcesFit")
		child(t, tr, child(t, tr, child(t, tr, attempt, "binding cycle"), "Bind"), "Bind DefaultBinder")
	}
	if orphans := tr.Orphans(); len(orphans) > 0 {
		t.Errorf("%d orphans", len(orphans))
	}
	examined(t, s)
}

// examined checks that `lifeline doctor` reports the scheduler, with the cluster's version.
func examined(t *testing.T, s *harness.Server) {
	t.Helper()
	want := "; it is of Kubernetes " + bench.Release()
	r := bench.Exec(t, "doctor", "--server", "http://"+s.APIAddress(), "-o", "json")
	var report struct {
		Checks []struct{ Name, Status, Found string }
	}
	if err := json.Unmarshal([]byte(r.Stdout), &report); err != nil {
		t.Fatalf("%v: %s%s", err, r.Stdout, r.Stderr)
	}
	for _, c := range report.Checks {
		if c.Name != "scheduler" {
			continue
		}
		if t.Log(c.Status, c.Found); c.Status != "ok" || !strings.Contains(c.Found, want) {
			t.Errorf("the scheduler is %s: %s, want %q", c.Status, c.Found, want)
		}
		return
	}
	t.Error("lifeline doctor does not report the scheduler")
}

// TestNoNodeFits: the open trace says which plugin rejected how many nodes, and why.
func TestNoNodeFits(t *testing.T) {
	s := serve(t)
	ns := bench.Namespace(t)
	bench.MustKubectl(t, deployment(ns, "1000"), "apply", "-f", "-")
	harness.Eventually(t, "the scheduler's failed attempts", func() bool {
		for _, tr := range s.Workloads(t, ns) {
			for _, fit := range tr.Find("Filter NodeResourcesFit", "") {
				return fit.Attributes["k8s.scheduler.nodes.rejected"] == fmt.Sprint(nodes) &&
					strings.Contains(fit.Attributes["k8s.scheduler.reject.reasons"], "Insufficient cpu")
			}
		}
		return false
	})
}
