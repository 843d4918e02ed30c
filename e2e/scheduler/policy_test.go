// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

// reserved is the node with a taint. It is also the fullest: a strategy that packs chooses it.
const reserved = "node-0"

// replicas are those of the workload that a policy places again.
const replicas = 6

// policy returns the manifest of a SchedulingPolicy.
func policy(name, profile string) string {
	return fmt.Sprintf(`
apiVersion: scheduling.lifeline.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: %[1]s}
spec:
  workloads: {matchLabels: {policy: %[1]s}}
  profile: %[2]s
`, name, profile)
}

func placed(namespace, policy string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %[1]s, name: web, labels: {policy: %[2]s}}
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      schedulerName: %[2]s
      containers: [{name: web, image: registry.example/web:1, resources: {requests: {cpu: "1", memory: 1Gi}}}]
`, namespace, policy, replicas)
}

// operate applies the operator's manifests, and runs the operator beside the cluster with the rights of its
// service account alone. Its spans and its scheduler's go to the receiver.
func operate(t *testing.T) {
	t.Helper()
	operator, err := program.Own(t.Context(), "examples/scheduler-operator", ".")
	if err != nil {
		t.Fatal(err)
	}
	manifests := filepath.Join("..", "..", "examples", "scheduler-operator", "config")
	undo(t, "delete", "-k", manifests, "--ignore-not-found")
	bench.MustKubectl(t, "", "apply", "-k", manifests)
	const name, ns = "scheduler-operator", "scheduler-operator-system"
	bench.MustKubectl(t, "", "-n", ns, "delete", "deployment", name) // runs nothing on a fake node
	bench.MustKubectl(t, "", "wait", "--for=condition=Established", "--timeout=4m",
		"crd/schedulingpolicies.scheduling.lifeline.dev")
	token := bench.MustKubectl(t, "", "-n", ns, "create", "token", name)
	kubeconfig := bench.KubeconfigWith(t, func(c *harness.Config) {
		for _, user := range c.AuthInfos {
			user.ClientCertificate, user.ClientKey, user.Token = "", "", strings.TrimSpace(token)
			user.ClientCertificateData, user.ClientKeyData = nil, nil
		}
	})
	log := filepath.Join(t.TempDir(), "operator.log")
	t.Cleanup(func() {
		text, err := os.ReadFile(log)
		if err != nil || strings.Contains(string(text), "forbidden") {
			t.Errorf("the service account has too few rights: %v\n%s", err, text)
		}
	})
	program.Run(t, program.Call{
		Path: operator,
		Args: []string{
			"--scheduler", picky(t),
			"--tracing-config-file", harness.File(t, fmt.Sprintf("endpoint: %s\n", receiver)),
		},
		Env: []string{"KUBECONFIG=" + kubeconfig, "OTEL_EXPORTER_OTLP_ENDPOINT=http://" + receiver},
		Log: log,
	})
}

// unwanted is a weight with which the scheduler of picky does not start.
const unwanted = 77

// picky returns a program that is the scheduler, but for one weight.
func picky(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scheduler")
	script := fmt.Sprintf(`#!/bin/sh
if grep -q 'weight: %d$' "${1#--config=}"; then
	echo 'E1127 14:37:18.042121   16369 run.go:72] "command failed" err="unwanted weight"' >&2
	exit 1
fi
exec '%s' "$@"
`, unwanted, traced)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// serveExactly starts a server that receives the scheduler's spans, and whose webhook gives each
// change its context.
func serveExactly(t *testing.T) *harness.Server {
	t.Helper()
	cert, key, authority, err := bench.ServingCert()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"cert": cert, "key": key, "ca": authority} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	calls := harness.Free(t)
	s := bench.Server(t, harness.ServerOptions{Config: fmt.Sprintf(`
receivers: {otlp: {grpc: {address: %q}}}
webhook: {endpoint: {address: %q, tls: {certFile: %q, keyFile: %q}}}
relations:
- name: policy
  from: {group: scheduling.lifeline.dev, kind: SchedulingPolicy}
  to: {group: apps, kind: Deployment}
  match: to.spec.template.spec.schedulerName == from.metadata.name
showValues: [{group: scheduling.lifeline.dev, kind: SchedulingPolicy, fields: [spec.profile]}]
`, receiver, calls, filepath.Join(dir, "cert"), filepath.Join(dir, "key"))})
	s.Start(t)
	t.Cleanup(func() { s.Stop(t) })
	webhook := func(args ...string) {
		if r := bench.Exec(t, append([]string{"webhook"}, args...)...); r.Code != 0 {
			t.Fatalf("lifeline webhook %v: exit code %d\n%s", args, r.Code, r.Stderr)
		}
	}
	webhook("install", "--url", "https://"+calls+"/admission", "--ca-file", filepath.Join(dir, "ca"))
	t.Cleanup(func() { webhook("uninstall") })
	ns, i := bench.Namespace(t), 0
	harness.Eventually(t, "an object with a context from the webhook", func() bool {
		i++
		object := bench.MustKubectl(t, "", "-n", ns, "create", "configmap", fmt.Sprintf("probe-%d", i), "-o", "yaml")
		return strings.Contains(object, "trace.kubernetes.io/context")
	})
	return s
}

// attempts waits for the trace that has the attempts of all replicas, beside the span with that
// name. It returns the trace and the attempts that bound a Pod.
func attempts(t *testing.T, s *harness.Server, ns, name string) (found *harness.Trace, bound []*harness.Span) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("a finished trace with %s and %d attempts", name, replicas), func() bool {
		for id, tr := range s.Workloads(t, ns) {
			bound = slices.DeleteFunc(tr.Find("scheduling attempt", ""), func(a *harness.Span) bool {
				return a.Attributes["k8s.scheduler.outcome"] != "bound"
			})
			if len(tr.Find(name, "")) > 0 && len(bound) == replicas && len(tr.Orphans()) == 0 && finished(t, s, id) {
				found = tr
				return true
			}
		}
		return false
	})
	return found, bound
}

func finished(t *testing.T, s *harness.Server, id string) bool {
	t.Helper()
	return slices.ContainsFunc(s.List(t, nil), func(sum harness.Summary) bool { return sum.TraceID == id && !sum.Open })
}

// plugin returns the span of a plugin in an attempt, or nil.
func plugin(t *testing.T, tr *harness.Trace, attempt *harness.Span, point, name string) *harness.Span {
	t.Helper()
	in := child(t, tr, child(t, tr, attempt, "scheduling cycle"), point)
	for _, s := range tr.Spans {
		if s.Parent == in.ID && s.Name == point+" "+name {
			return s
		}
	}
	return nil
}

// above returns whether a span is an ancestor of another.
func above(tr *harness.Trace, ancestor, of *harness.Span) bool {
	parents := map[string]string{}
	for _, s := range tr.Spans {
		parents[s.ID] = s.Parent
	}
	for id := of.Parent; id != ""; id = parents[id] {
		if id == ancestor.ID {
			return true
		}
	}
	return false
}

// number returns an attribute of a span as a number.
func number(t *testing.T, s *harness.Span, key string) int {
	t.Helper()
	n, err := strconv.Atoi(s.Attributes[key])
	if err != nil {
		t.Fatalf("%s has the %s %q", s.Name, key, s.Attributes[key])
	}
	return n
}

// undo runs kubectl at the end of the test, whose own context has ended then.
func undo(t *testing.T, args ...string) {
	t.Helper()
	t.Cleanup(func() {
		if out, err := bench.RunKubectl(context.WithoutCancel(t.Context()), nil, args...); err != nil {
			t.Errorf("kubectl %v: %v\n%s", args, err, out)
		}
	})
}

// only returns the single span with a name.
func only(t *testing.T, tr *harness.Trace, name, object string) *harness.Span {
	t.Helper()
	all := tr.Find(name, object)
	if len(all) != 1 {
		t.Fatalf("%d spans %s %s:\n%s", len(all), name, object, harness.Names{}.Outline(tr))
	}
	return all[0]
}

// TestPolicy: a change of a SchedulingPolicy, the new configuration of the scheduler, the restart of
// the workload, and the filters and scores of its Pods are one trace.
func TestPolicy(t *testing.T) {
	s := serveExactly(t)
	operate(t)
	ns := bench.Namespace(t)
	bench.MustKubectl(t, "", "taint", "node", reserved, "reserved=true:NoSchedule")
	undo(t, "taint", "node", reserved, "reserved-")
	bench.MustKubectl(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {namespace: %s, name: filler}
spec:
  nodeName: %s
  containers: [{name: c, image: registry.example/c:1, resources: {requests: {cpu: "8", memory: 32Gi}}}]
`, ns, reserved), "apply", "-f", "-")

	const name = "story"
	ready := func() {
		bench.MustKubectl(t, "", "wait", "schedulingpolicy/"+name, "--for=condition=Ready", "--timeout=4m")
	}
	undo(t, "delete", "schedulingpolicy", name)
	bench.MustKubectl(t, policy(name, "{strategy: LeastAllocated}"), "apply", "-f", "-")
	ready()
	bench.MustKubectl(t, placed(ns, name), "apply", "-f", "-")
	bench.MustKubectl(t, "", "-n", ns, "rollout", "status", "deployment/web", "--timeout=4m")
	spread := nodesOf(t, ns)
	delete(spread, "filler")
	if used := distinct(spread); slices.Contains(used, reserved) || len(used) != min(replicas, nodes-1) {
		t.Errorf("the first Pods are on %v, want them spread, and none on %s", used, reserved)
	}
	before, first := attempts(t, s, ns, "reconcile Deployment")

	bench.MustKubectl(t, policy(name, `
    strategy: MostAllocated
    weights: [{plugin: NodeResourcesFit, weight: 5}]
    disabledFilters: [TaintToleration]
    disabledScores: [PodTopologySpread]`), "apply", "-f", "-")
	ready()
	var packed map[string]string
	harness.Eventually(t, "the end of the first Pods", func() bool {
		packed = nodesOf(t, ns)
		delete(packed, "filler")
		return len(packed) == replicas
	})
	if used := distinct(packed); !slices.Equal(used, []string{reserved}) {
		t.Errorf("the Pods are on %v, want all on %s", used, reserved)
	}
	after, second := attempts(t, s, ns, "replace scheduler")

	if before.ID == after.ID {
		t.Fatal("both changes are one trace")
	}
	change := only(t, after, "reconcile SchedulingPolicy", name)
	if roots := after.Roots(); len(roots) != 1 || roots[0] != change {
		t.Errorf("the change of the policy is not the only root:\n%s", harness.Names{}.Outline(after))
	}
	if edits := change.Attributes["lifeline.write.edits"]; !strings.Contains(edits, "LeastAllocated → MostAllocated") {
		t.Errorf("the change has the edits %s", edits)
	}
	replaced := only(t, after, "replace scheduler", "")
	var changes []string
	if err := json.Unmarshal([]byte(replaced.Attributes["k8s.scheduler.changes"]), &changes); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{
		"Filter TaintToleration: disabled",
		"Score PodTopologySpread: disabled",
		"Score NodeResourcesFit: LeastAllocated → MostAllocated",
		"Score NodeResourcesFit: weight 1 → 5",
	}, changes); diff != "" {
		t.Errorf("changes of the scheduler: -want +got:\n%s", diff)
	}
	if reconciles := after.Find("scheduling-policy reconcile", ""); len(reconciles) == 0 {
		t.Errorf("no reconcile of the operator:\n%s", harness.Names{}.Outline(after))
	}
	only(t, after, "patch Deployment", "web")
	restart := only(t, after, "reconcile Deployment", "web")
	for _, a := range second {
		if !above(after, change, restart) || !above(after, restart, a) || a.Start.Before(replaced.End) {
			t.Errorf("the attempt of %s is not an effect of the restart:\n%s", a.Attributes["k8s.pod.name"],
				harness.Names{}.Outline(after))
		}
	}
	compareAttempts(t, before, after, first, second)
	checkRejected(t, ns, name)
	for _, sp := range after.Spans {
		for key, value := range sp.Attributes {
			if strings.Contains(value, "KubeSchedulerConfiguration") {
				t.Errorf("%s of %s has data of the ConfigMap: %s", key, sp.Name, value)
			}
		}
	}
}

// checkRejected checks that a profile with which the scheduler does not start leaves the last one running.
func checkRejected(t *testing.T, ns, name string) {
	t.Helper()
	bench.MustKubectl(t, policy(name, fmt.Sprintf("{weights: [{plugin: NodeResourcesFit, weight: %d}]}", unwanted)),
		"apply", "-f", "-")
	bench.MustKubectl(t, "", "wait", "schedulingpolicy/"+name, "--timeout=4m",
		`--for=jsonpath={.status.conditions[0].reason}=SchedulerFailed`)
	message := bench.MustKubectl(
		t,
		"",
		"get",
		"schedulingpolicy",
		name,
		"-o",
		"jsonpath={.status.conditions[0].message}",
	)
	if !strings.Contains(message, `runs with the last profile`) || !strings.Contains(message, `unwanted weight`) ||
		strings.Contains(message, "run.go") {
		t.Errorf("the condition of the rejected profile has the message %q", message)
	}
	bench.MustKubectl(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {namespace: %s, name: later}
spec: {schedulerName: %s, containers: [{name: c, image: registry.example/c:1}]}
`, ns, name), "apply", "-f", "-")
	bench.MustKubectl(t, "", "-n", ns, "wait", "pod/later", "--for=condition=PodScheduled", "--timeout=4m")
	if node := nodesOf(t, ns)["later"]; node != reserved {
		t.Errorf("the last profile places Pods on %s, and the Pod is on %s", reserved, node)
	}
}

// compareAttempts checks that the plugins of the attempts differ as the policy does.
func compareAttempts(t *testing.T, before, after *harness.Trace, first, second []*harness.Span) {
	t.Helper()
	for _, a := range first {
		taints := plugin(t, before, a, "Filter", "TaintToleration")
		if taints == nil || number(t, taints, "k8s.scheduler.nodes.rejected") != 1 {
			t.Errorf("before, TaintToleration must reject %s: %v", reserved, taints)
		}
		// The weight is 1.
		fit := plugin(t, before, a, "Score", "NodeResourcesFit")
		if fit == nil || number(t, fit, "k8s.scheduler.score") > 100 {
			t.Errorf("before, NodeResourcesFit scored %v", fit)
		}
		if plugin(t, before, a, "Score", "PodTopologySpread") == nil {
			t.Error("before, PodTopologySpread must score")
		}
	}
	for _, a := range second {
		if a.Attributes["k8s.node.name"] != reserved {
			t.Errorf("after, %s is on %s", a.Attributes["k8s.pod.name"], a.Attributes["k8s.node.name"])
		}
		if taints := plugin(t, after, a, "Filter", "TaintToleration"); taints != nil {
			t.Errorf("after, TaintToleration still filters: %v", taints.Attributes)
		}
		if spread := plugin(t, after, a, "Score", "PodTopologySpread"); spread != nil {
			t.Errorf("after, PodTopologySpread still scores: %v", spread.Attributes)
		}
		// The weight is 5, and half of the node is in use.
		fit := plugin(t, after, a, "Score", "NodeResourcesFit")
		if fit == nil || number(t, fit, "k8s.scheduler.score") <= 250 ||
			number(t, fit, "k8s.scheduler.score") <= number(t, fit, "k8s.scheduler.score.second") {
			t.Errorf("after, NodeResourcesFit scored %v", fit)
		}
	}
}

// distinct returns the nodes of Pods, each once.
func distinct(placed map[string]string) (out []string) {
	for _, node := range placed {
		if !slices.Contains(out, node) {
			out = append(out, node)
		}
	}
	slices.Sort(out)
	return out
}
