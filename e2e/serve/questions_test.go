// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// slowPods is a Deployment of two Pods with three volumes that wait for a label on a node, and one of a
// Pod that waits for nothing.
const slowPods = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: slow}
spec:
  replicas: 2
  selector: {matchLabels: {app: slow}}
  template:
    metadata: {labels: {app: slow, app.kubernetes.io/name: slow}}
    spec:
      nodeSelector: {questions: %[1]s}
      containers: [{name: c, image: "nginx:1.29"}]
      volumes: [{name: a, emptyDir: {}}, {name: b, emptyDir: {}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: fast}
spec:
  replicas: 1
  selector: {matchLabels: {app: fast}}
  template:
    metadata: {labels: {app: fast}}
    spec: {containers: [{name: c, image: "redis:8"}]}
`

// TestQuestions: a question about Pods has their answer while they wait and after their start, in the
// command line, in SQL, in the API and in that of Jaeger.
func TestQuestions(t *testing.T) {
	s := bench.Server(t, harness.ServerOptions{})
	s.Start(t)
	ns := bench.Namespace(t)
	bench.MustKubectl(t, fmt.Sprintf(slowPods, ns), "-n", ns, "apply", "-f", "-")
	defer bench.MustKubectl(t, "", "label", "nodes", "--all", "questions-")
	asked := func(args ...string) string {
		t.Helper()
		r := bench.Do(t, harness.Call{Args: append(args, "--server", "http://"+s.APIAddress())})
		if r.Code != 0 {
			t.Fatalf("lifeline %q: exit code %d: %s", args, r.Code, r.Stderr)
		}
		return r.Stdout
	}
	here := ` && namespace == "` + ns + `"`
	rows := func(question string) int {
		return strings.Count(asked("find", question+here, "-o", "csv"), "\n") - 1
	}
	const waiting = `kind == "Pod" && outcome == "" && now - start > duration("8s") && volumes > 2`
	harness.Eventually(t, "two Pods wait for eight seconds", func() bool { return rows(waiting) == 2 })

	bench.MustKubectl(t, "", "label", "nodes", "--all", "questions="+ns)
	bench.MustKubectl(t, "", "-n", ns, "rollout", "status", "deployment/slow", "--timeout=60s")
	const slow = `kind == "Pod" && phase.startup > duration("8s") && ` +
		`images.exists(i, i.contains("nginx")) && volumes > 2`
	harness.Eventually(t, "two Pods have started", func() bool { return rows(slow) == 2 })
	if n := rows(waiting); n != 0 {
		t.Errorf("%d Pods still wait", n)
	}
	if got := asked("find", slow+here, "-o", "csv", "-A", "-n", "default"); strings.Count(got, "\n") != 3 {
		t.Errorf("-A after -n:\n%s", got)
	}
	if n := rows(`kind == "Pod" && !(` + slow + `)`); n != 1 {
		t.Errorf("%d Pods were not slow, want the one of fast", n)
	}
	if n := rows(`workload == "Deployment/slow" && labels["app.kubernetes.io/name"] == "slow" && node != ""`); n != 2 {
		t.Errorf("%d Pods of the workload have its label and a node", n)
	}
	const between = "ended.readiness - began.schedule"
	if n := rows(`kind == "Pod" && ` + between + ` > duration("8s") && ended.readiness <= end`); n != 2 {
		t.Errorf("%d Pods needed eight seconds from their scheduling to their readiness", n)
	}
	s.AwaitIdle(t) // the archive has everything
	got := asked("find", `kind == "Pod"`+here, "--group-by", "workload", "--of", "phase.startup", "--quantiles", "0.5")
	if !strings.Contains(got, "Deployment/slow") || !strings.Contains(got, "Deployment/fast") {
		t.Errorf("groups:\n%s", got)
	}
	got = asked(
		"find", `kind == "Pod"`+here, "--group-by", "workload", "--of", between, "--quantiles", "0.5", "-o", "csv",
	)
	if !strings.Contains(got, "Deployment/slow,2,2,") || !strings.Contains(got, "Deployment/fast,1,1,") {
		t.Errorf("groups of the time between two steps:\n%s", got)
	}
	got = asked("find", `kind == "Pod"`+here, "--group-by", `labels["app.kubernetes.io/name"]`, "-o", "csv")
	if !strings.Contains(got, "\r\nslow,2\r\n") {
		t.Errorf("groups of a label:\n%s", got)
	}
	got = asked("ls", "-n", ns, "--where", slow)
	if strings.Count(got, "Deployment") != 1 || !strings.Contains(got, "Deployment slow") {
		t.Errorf("ls --where:\n%s", got)
	}
	r := bench.Do(t, harness.Call{Args: []string{
		"sql", "--data-dir", s.Dir, "-o", "csv",
		"SELECT count(*) FROM v_lifecycles WHERE kind = 'Pod' AND phase_startup > 8 AND namespace = '" + ns + "'",
	}})
	if r.Code != 0 || r.Stdout != "count(*)\r\n2\r\n" {
		t.Errorf("sql: exit code %d, %s%s", r.Code, r.Stdout, r.Stderr)
	}
	r = bench.Do(t, harness.Call{Args: []string{"sql", "--data-dir", s.Dir, "SELECT phase.startup FROM v_lifecycles"}})
	if r.Code != 1 || !strings.HasSuffix(r.Stderr, "no such column: phase.startup: did you mean phase_startup?\n") {
		t.Errorf("sql with a mistake: exit code %d, %s%s", r.Code, r.Stdout, r.Stderr)
	}
	id := s.TraceOf(t, ns, "slow").ID
	var tree struct {
		Spans int
		Nodes []any
	}
	if s.API(t, "traces/"+id+"/tree", &tree); tree.Spans == 0 || len(tree.Nodes) != 1 {
		t.Errorf("tree: %+v", tree)
	}
	code, body, err := harness.Get(t.Context(), "http://"+s.APIAddress()+
		"/api/traces?service=kubelet&limit=100&tags=%7B%22k8s.namespace.name%22%3A%22"+ns+"%22%7D")
	if err != nil || code != 200 || !strings.Contains(string(body), id) {
		t.Errorf("Jaeger's search: %d %v, without trace %s", code, err, id)
	}
	s.Stop(t)
}
