// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// why returns what `lifeline why` prints about an object.
func why(t *testing.T, s *harness.Server, namespace, object string) string {
	t.Helper()
	r := bench.Exec(t, "why", object, "-n", namespace, "--server", "http://"+s.APIAddress())
	if r.Code == 1 {
		t.Log(r.Stderr)
	}
	return r.Stdout
}

// eventuallyWhy waits until `lifeline why` prints all texts about an object.
func eventuallyWhy(t *testing.T, s *harness.Server, namespace, object string, texts ...string) {
	t.Helper()
	said := ""
	defer func() { t.Logf("$ lifeline why %s\n%s", object, said) }()
	harness.Eventually(t, fmt.Sprintf("why %s: %q", object, texts), func() bool {
		said = why(t, s, namespace, object)
		for _, text := range texts {
			if !strings.Contains(said, text) {
				return false
			}
		}
		return true
	})
}

// TestWhyNoNodeFits: three nodes have a taint, one is cordoned, and the others lack memory. The answers of the
// command and of the API say so, and name the changes of the nodes.
func TestWhyNoNodeFits(t *testing.T) {
	s := serve(t)
	ns := bench.Namespace(t)
	undo(t, "taint", "nodes", "node-0", "node-1", "node-2", "dedicated-")
	bench.MustKubectl(t, "", "taint", "nodes", "node-0", "node-1", "node-2", "dedicated=database:NoSchedule")
	undo(t, "uncordon", "node-3")
	bench.MustKubectl(t, "", "cordon", "node-3")
	bench.MustKubectl(t, strings.Replace(deployment(ns, "100m"), "cpu", "memory: 100Gi, cpu", 1), "apply", "-f", "-")
	reason := fmt.Sprintf("cannot be scheduled: no node of %d fits: %d lack memory (NodeResourcesFit), 3 have an "+
		"untolerated taint (TaintToleration), 1 is cordoned (NodeUnschedulable)", nodes, nodes-4)
	pods := strings.Fields(bench.MustKubectl(t, "", "-n", ns, "get", "pods", "-o", "name"))
	harness.Eventually(t, "the Pods", func() bool {
		pods = strings.Fields(bench.MustKubectl(t, "", "-n", ns, "get", "pods", "-o", "name"))
		return len(pods) == 2
	})
	because := []string{
		reason, "(lack memory); node-0, node-1, node-2 (have an untolerated taint); node-3 (is cordoned).",
		"Node node-3 was cordoned: ", "Shortly before, Node node-", " got a taint: ", "unschedulable",
	}
	eventuallyWhy(t, s, ns, "deployment/web", because...)
	eventuallyWhy(t, s, ns, pods[0], because...)
	for id := range s.Workloads(t, ns) {
		var answer struct {
			Reason, Text string
			Attempt      struct {
				Nodes      int
				Rejections []struct{ Plugin string }
			}
		}
		_, name, _ := strings.Cut(pods[0], "/")
		s.API(t, "traces/"+id+"/why?"+url.Values{"kind": {"Pod"}, "namespace": {ns}, "name": {name}}.Encode(), &answer)
		if !strings.Contains(answer.Reason, reason) || !strings.Contains(answer.Text, because[2]) ||
			answer.Attempt.Nodes != nodes || len(answer.Attempt.Rejections) != 3 {
			t.Errorf("the API answers %+v", answer)
		}
	}
}

// TestWhyThatNode: the answer about a placed Pod names its node, the second, and what made the difference.
func TestWhyThatNode(t *testing.T) {
	s := serve(t)
	ns := bench.Namespace(t)
	bench.MustKubectl(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {namespace: %s, name: web}
spec:
  containers: [{name: web, image: registry.example/web:1}]
  affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference:
    {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-5]}]}}]}}
`, ns), "create", "-f", "-")
	eventuallyWhy(t, s, ns, "pod/web", "Pod web converged", "The scheduler chose node-5 with score ",
		"; second node-", "NodeAffinity")
}
