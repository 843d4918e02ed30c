// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// configuration has a number of workers. Without its limit of requests, the scheduler binds more than
// 50 Pods a second.
func configuration(t testing.TB, workers int) string {
	t.Helper()
	return harness.File(t, fmt.Sprintf(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: %d
clientConnection: {kubeconfig: %q, qps: 5000, burst: 5000}
leaderElection: {leaderElect: false}
`, workers, bench.Kubeconfig()))
}

// pods returns n Pods that exercise most plugins.
func pods(namespace string, n int) string {
	var out strings.Builder
	for i := range n {
		app := fmt.Sprintf("app%d", i%5)
		extra := [5]string{
			"",
			"priority: 0",
			"topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: " +
				"ScheduleAnyway, labelSelector: {matchLabels: {app: " + app + "}}}]",
			"affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 50, " +
				"podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: " +
				"{matchLabels: {app: " + app + "}}}}]}}",
			"tolerations: [{key: dedicated, operator: Exists}]",
		}[i%5]
		fmt.Fprintf(&out, `---
apiVersion: v1
kind: Pod
metadata: {namespace: %s, name: p-%04d, labels: {app: %s}}
spec:
  containers: [{name: c, image: registry.example/c:1, resources: {requests: {cpu: %dm, memory: %dMi}}}]
  terminationGracePeriodSeconds: 0
  %s
`, namespace, i, app, 10+i%9*5, 16+i%5*8, extra)
	}
	return out.String()
}

// TestSamePlacements schedules 2,000 Pods on 100 nodes by kube-scheduler, and by the scheduler with
// spans of all Pods and of none.
func TestSamePlacements(t *testing.T) {
	harness.Slow(t)
	const count = 2000
	runs := 0
	place := func(change func(*lab.Options)) map[string]string {
		runs++
		ns := fmt.Sprintf("placement-%d", runs)
		bench.MustKubectl(t, "", "create", "namespace", ns)
		bench.AwaitDefaults(t, ns)
		if err := bench.Kill(lab.Scheduler); err != nil {
			t.Fatal(err)
		}
		bench.MustKubectl(t, pods(ns, count), "create", "-f", "-")
		begin := time.Now()
		if err := bench.Reconfigure(t.Context(), func(o *lab.Options) {
			// With one worker, the choice among equal nodes does not depend on the order of goroutines.
			// Streamed lists are off: their Nodes and Pods come in a random order. A new file each time:
			// then the scheduler starts in any case.
			o.ExtraArgs = map[lab.Component][]string{lab.Scheduler: {
				"--config=" + configuration(t, 1), "--feature-gates=WatchListClient=false",
			}}
			change(o)
		}); err != nil {
			t.Fatal(err)
		}
		var placed map[string]string
		harness.Within(t, 10*time.Minute, "all Pods on nodes", func() bool {
			placed = nodesOf(t, ns)
			return len(placed) == count
		})
		t.Logf("%d Pods in %s", count, time.Since(begin).Round(time.Millisecond))
		bench.MustKubectl(t, "", "delete", "namespace", ns, "--timeout=10m")
		return placed
	}
	kubeScheduler := func(o *lab.Options) {
		o.Scheduler = ""
		delete(o.Tracing, lab.Scheduler)
	}
	with := func(rate int32) func(o *lab.Options) {
		return func(o *lab.Options) {
			o.Scheduler = traced
			o.Tracing = lab.Tracing{Endpoint: receiver, SamplingRatePerMillion: rate}.Of(lab.Scheduler)
		}
	}
	s := serve(t)
	original := place(kubeScheduler)
	for _, other := range []struct {
		name   string
		change func(*lab.Options)
	}{
		{"kube-scheduler again", kubeScheduler},
		{"all spans", with(lab.EveryTrace)},
		{"no spans", with(0)},
	} {
		if diff := cmp.Diff(original, place(other.change)); diff != "" {
			t.Errorf("%s: -kube-scheduler +other\n%.2000s", other.name, diff)
		}
	}
	received := 0.0
	for name, value := range s.Metrics(t) {
		if strings.HasPrefix(name, "lifeline_receiver_spans_total") {
			received += value
		}
	}
	t.Logf("the server received %.0f spans", received)
}

// nodesOf returns the node of each Pod that has one.
func nodesOf(t *testing.T, namespace string) map[string]string {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ NodeName string }
		}
	}
	if err := json.Unmarshal(
		[]byte(bench.MustKubectl(t, "", "-n", namespace, "get", "pods", "-o", "json")),
		&list,
	); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, p := range list.Items {
		if p.Spec.NodeName != "" {
			out[p.Metadata.Name] = p.Spec.NodeName
		}
	}
	return out
}
