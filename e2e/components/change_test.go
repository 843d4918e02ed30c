// SPDX-License-Identifier: Apache-2.0

package components

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/headoperator"
)

// TestRollout: another image, another scale, and the end.
func TestRollout(t *testing.T) {
	ns := bench.Namespace(t)
	bench.MustKubectl(t, deployment(ns, image(t)), "apply", "-f", "-")
	settled(t, ns)
	to := image(t)
	calm(t)
	r := begin(t, ns)
	end := r.observe(t)
	bench.MustKubectl(t, "", "-n", ns, "set", "image", "deployment/web", "web="+to)
	settled(t, ns)
	bench.MustKubectl(t, "", "-n", ns, "scale", "deployment/web", "--replicas=1")
	bench.MustKubectl(t, "", "-n", ns, "wait", "deployment/web", "--for=jsonpath={.status.replicas}=1", "--timeout=4m")
	bench.MustKubectl(t, "", "-n", ns, "delete", "deployment/web")
	gone(t, ns)
	end()
	r.end(t)
	r.save(t, "rollout", false)
}

// gone waits until the last Pod of a namespace is.
func gone(t *testing.T, namespace string) {
	t.Helper()
	harness.Eventually(t, "the end of all Pods", func() bool {
		return bench.MustKubectl(t, "", "-n", namespace, "get", "pods,replicasets", "-o", "name") == ""
	})
}

// TestOperator: the Head operator with its own spans, and its webhook.
func TestOperator(t *testing.T) {
	op := headoperator.Start(t, bench, headoperator.Options{Endpoint: collector.Endpoint, Rate: 1_000_000})
	ns, ref := bench.Namespace(t), image(t)
	calm(t)
	r := begin(t, ns)
	manifest := fmt.Sprintf(`
apiVersion: demo.lifeline.dev/v1alpha1
kind: Head
metadata: {name: web, namespace: %s}
spec: {image: %q, replicas: 1}
`, ns, ref)
	res := bench.Do(t, harness.Call{
		Args: []string{"run", "--record", r.observations, "--", "kubectl", "apply", "-f", harness.File(t, manifest)},
	})
	if res.Code != 0 {
		t.Fatalf("exit code %d\n%s", res.Code, res.Stderr)
	}
	op.Stop(t) // it sends its last spans
	r.end(t)
	r.save(t, "operator", false)
}

// TestCrashLoop: a container that ends again and again.
func TestCrashLoop(t *testing.T) {
	ns := bench.Namespace(t)
	calm(t)
	r := begin(t, ns)
	end := r.observe(t)
	bench.MustKubectl(t, pod(ns, "crash", `
      env: [{name: LIFETIME, value: 100ms}, {name: EXIT_CODE, value: "3"}]
`), "apply", "-f", "-")
	harness.Eventually(t, "the second restart", func() bool {
		return bench.MustKubectl(
			t,
			"",
			"-n",
			ns,
			"get",
			"pod/crash",
			"-o",
			"jsonpath={.status.containerStatuses[0].restartCount}",
		) == "2"
	})
	bench.MustKubectl(
		t,
		"",
		"-n",
		ns,
		"wait",
		"pod/crash",
		"--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=CrashLoopBackOff",
		"--timeout=4m",
	)
	end()
	r.end(t)
	r.save(t, "crashloop", false)
}

// pod is a Pod without owner, with one container app.
func pod(namespace, name, container string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: %q
%s`, name, namespace, bench.Image("app:v1"), container)
}

// TestEviction: once by the API, where the ReplicaSet makes up for it, and once by
// the kubelet.
func TestEviction(t *testing.T) {
	ns := bench.Namespace(t)
	bench.MustKubectl(t, deployment(ns, bench.Image("app:v1")), "apply", "-f", "-")
	settled(t, ns)
	calm(t)
	r := begin(t, ns)
	end := r.observe(t)
	victim, _, _ := strings.Cut(
		bench.MustKubectl(t, "", "-n", ns, "get", "pods", "-o", "jsonpath={.items[*].metadata.name}"),
		" ",
	)
	bench.MustKubectl(
		t,
		fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q,"namespace":%q}}`, victim, ns),
		"create",
		"--raw",
		"/api/v1/namespaces/"+ns+"/pods/"+victim+"/eviction",
		"-f",
		"-",
	)
	// Its log is longer than that.
	bench.MustKubectl(t, pod(ns, "greedy", `
      resources: {limits: {ephemeral-storage: "1"}}
`), "apply", "-f", "-")
	harness.Eventually(t, "the kubelet evicting", func() bool {
		return strings.Contains(
			bench.MustKubectl(
				t,
				"",
				"-n",
				ns,
				"get",
				"events",
				"-o",
				"jsonpath={.items[?(@.involvedObject.name=='greedy')].reason}",
			),
			"Evicted",
		)
	})
	collector.Await(t, 1, func(s *harness.Span) bool {
		return s.Name == "syncTerminatedPod" && s.Attributes["k8s.pod"] == ns+"/greedy"
	})
	settled(t, ns)
	end()
	r.end(t)
	r.save(t, "eviction", false)
}
