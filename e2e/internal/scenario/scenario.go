// SPDX-License-Identifier: Apache-2.0

// Package scenario holds the end-to-end scenarios that hold on any cluster: what
// is done, which causes are expected, written down by hand, and the audit log's
// word for which writes there were.
package scenario

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab/audit"
)

// All runs every scenario on the cluster.
func All(t *testing.T, bench *harness.Bench) {
	t.Helper()
	for _, s := range []struct {
		name string
		run  func(*testing.T, *harness.Bench)
	}{
		{"create", create},
		{"scale up", scaleUp},
		{"scale down", scaleDown},
		{"rollout", rollout},
		{"undo", undo},
		{"delete", cascade},
		{"delete pod", deletePod},
		{"name reused", nameReused},
		{"unrelated changes stay apart", unrelatedChangesStayApart},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel() // each in a separate namespace, and most of it waits
			s.run(t, bench)
		})
	}
}

// Web is Deployment web, which pulls its image each time; annotations go onto its Pods, where the fake nodes look
// for delays.
func Web(namespace, image string, replicas int, annotations ...string) string {
	var notes strings.Builder
	for _, a := range annotations {
		key, value, _ := strings.Cut(a, "=")
		fmt.Fprintf(&notes, "        %s: %q\n", key, value)
	}
	meta := ""
	if notes.Len() > 0 {
		meta = "      annotations:\n" + notes.String()
	}
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: %s
spec:
  replicas: %d
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
%s    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: web
          image: %s
          imagePullPolicy: Always
`, namespace, replicas, meta, image)
}

// Given applies a manifest without lifeline and waits for the rollout of web.
func Given(t *testing.T, bench *harness.Bench, namespace, manifest string) {
	t.Helper()
	bench.MustKubectl(t, manifest, "apply", "-f", "-")
	bench.MustKubectl(t, "", "-n", namespace, "rollout", "status", "deployment/web", "--timeout=4m")
}

func create(t *testing.T, bench *harness.Bench) {
	t.Helper()
	ns := bench.Namespace(t)
	o := bench.Oracle(t, ns)
	r := bench.Run(t, 0, nil, "kubectl", "apply", "-f", harness.File(t, Web(ns, bench.Image("app:v1"), 2)))
	o.Expect(t, r, `
run converged
  reconcile Deployment web converged (request)
    create Deployment web (request)
    reconcile ReplicaSet web-A converged (owner)
      reconcile Pod web-A-* converged (owner) ×2
        [pull image, readiness, sandbox, schedule, start container]
`)
	o.Check(t, r, harness.All)
}

func scaleUp(t *testing.T, bench *harness.Bench) {
	t.Helper()
	ns := bench.Namespace(t)
	Given(t, bench, ns, Web(ns, bench.Image("app:v1"), 1))
	o := bench.Oracle(t, ns)
	r := bench.Run(t, 0, nil, "kubectl", "-n", ns, "scale", "deployment/web", "--replicas=3")
	o.Expect(t, r, `
run converged
  reconcile Deployment web converged (request)
    reconcile ReplicaSet web-A converged (owner)
      reconcile Pod web-A-* converged (owner) ×2
        [pull image, readiness, sandbox, schedule, start container]
    update Deployment web (request)
`)
	o.Check(t, r, harness.All)
}

func scaleDown(t *testing.T, bench *harness.Bench) {
	t.Helper()
	ns := bench.Namespace(t)
	Given(t, bench, ns, Web(ns, bench.Image("app:v1"), 3))
	o := bench.Oracle(t, ns)
	r := bench.Run(t, 0, nil, "kubectl", "-n", ns, "scale", "deployment/web", "--replicas=1")
	o.Expect(t, r, `
run converged
  reconcile Deployment web converged (request)
    reconcile ReplicaSet web-A converged (owner)
      reconcile Pod web-A-* deleted (owner) ×2
        [terminate]
    update Deployment web (request)
`)
	o.Check(t, r, harness.All)
}

func rollout(t *testing.T, bench *harness.Bench) {
	t.Helper()
	ns := bench.Namespace(t)
	Given(t, bench, ns, Web(ns, bench.Image("app:v1"), 1))
	o := bench.Oracle(t, ns)
	r := bench.Run(t, 0, nil, "kubectl", "apply", "-f", harness.File(t, Web(ns, bench.Image("app:v2"), 1)))
	o.Expect(t, r, `
run converged
  reconcile Deployment web converged (request)
    reconcile ReplicaSet web-A converged (owner)
      reconcile Pod web-A-* deleted (owner)
        [terminate]
    reconcile ReplicaSet web-B converged (owner)
      reconcile Pod web-B-* converged (owner)
        [pull image, readiness, sandbox, schedule, start container]
    update Deployment web (request)
`)
	o.Check(t, r, harness.All)
}

func undo(t *testing.T, bench *harness.Bench) {
	t.Helper()
	ns := bench.Namespace(t)
	Given(t, bench, ns, Web(ns, bench.Image("app:v1"), 1))
	Given(t, bench, ns, Web(ns, bench.Image("app:v2"), 1))
	o := bench.Oracle(t, ns)
	r := bench.Run(t, 0, nil, "kubectl", "-n", ns, "rollout", "undo", "deployment/web")
	o.Expect(t, r, `
run converged
  reconcile Deployment web converged (request)
    reconcile ReplicaSet web-A converged (owner)
      reconcile Pod web-A-* converged (owner)
        [pull image, readiness, sandbox, schedule, start container]
    reconcile ReplicaSet web-B converged (owner)
      reconcile Pod web-B-* deleted (owner)
        [terminate]
    update Deployment web (request)
`)
	o.Check(t, r, harness.All)
}

func cascade(t *testing.T, bench *harness.Bench) {
	t.Helper()
	tests := map[string]struct {
		reason string
		want   string
	}{
		"background": {"the garbage collector follows from the top down", `
run converged
  reconcile Deployment web deleted (request)
    delete Deployment web (request)
    reconcile ReplicaSet web-A deleted (owner)
      reconcile Pod web-A-* deleted (owner) ×2
        [terminate]
`},
		"foreground": {"the garbage collector goes from the bottom up", `
run converged
  reconcile Deployment web deleted (request)
    delete Deployment web (request)
    reconcile ReplicaSet web-A deleted (owner)
      reconcile Pod web-A-* deleted (owner) ×2
        [terminate]
`},
		"orphan": {"dependants stay, without their owner", `
run converged
  reconcile Deployment web deleted (request)
    delete Deployment web (request)
`},
	}
	for how, tt := range tests {
		t.Run(how, func(t *testing.T) {
			ns := bench.Namespace(t)
			Given(t, bench, ns, Web(ns, bench.Image("app:v1"), 2))
			o := bench.Oracle(t, ns)
			r := bench.Run(t, 0, nil, "kubectl", "-n", ns, "delete", "deployment/web", "--cascade="+how)
			o.Expect(t, r, tt.want)
			o.Check(t, r, harness.All)
		})
	}
}

func deletePod(t *testing.T, bench *harness.Bench) {
	t.Helper()
	ns := bench.Namespace(t)
	Given(t, bench, ns, Web(ns, bench.Image("app:v1"), 1))
	var seen []string
	for range 2 {
		name := strings.TrimSpace(
			bench.MustKubectl(t, "", "-n", ns, "get", "pods", "--field-selector=status.phase=Running", "-o",
				"jsonpath={.items[0].metadata.name}"),
		)
		o := bench.Oracle(t, ns)
		r := bench.Run(t, 0, nil, "kubectl", "-n", ns, "delete", "pod", name)
		o.Expect(t, r, `
run converged
  reconcile Pod web-A-* deleted (request)
    [terminate]
    delete Pod web-A-* (request)
`, `
reconcile Pod web-A-* converged ~heals heals Pod web-A-*
  [pull image, readiness, sandbox, schedule, start container]
`)
		o.Check(t, r, func(_ string, w audit.Write) int {
			switch {
			case w.Name == name:
				return 0
			case w.Resource == "pods":
				return 1
			}
			return harness.Somewhere // a status about both Pods
		})
		for _, tr := range r.Traces {
			seen = append(seen, tr.ID)
		}
		bench.MustKubectl(t, "", "-n", ns, "wait", "--for=delete", "pod/"+name, "--timeout=4m")
	}
	for i := range seen {
		for j := range i {
			if seen[i] == seen[j] {
				t.Errorf("two self-healings share trace %s", seen[i])
			}
		}
	}
}

func nameReused(t *testing.T, bench *harness.Bench) {
	t.Helper()
	ns := bench.Namespace(t)
	manifest := Web(ns, bench.Image("app:v1"), 1)
	first := bench.Run(t, 0, nil, "kubectl", "apply", "-f", harness.File(t, manifest))
	bench.Run(t, 0, nil, "kubectl", "-n", ns, "delete", "deployment/web")
	o := bench.Oracle(t, ns)
	r := bench.Run(t, 0, nil, "kubectl", "apply", "-f", harness.File(t, manifest))
	o.Expect(t, r, `
run converged
  reconcile Deployment web converged (request)
    create Deployment web (request)
    reconcile ReplicaSet web-B converged (owner)
      reconcile Pod web-B-* converged (owner)
        [pull image, readiness, sandbox, schedule, start container]
`)
	o.Check(t, r, harness.All)
	was, is := first.Traces[0].Find("reconcile Deployment", "web"), r.Traces[0].Find("reconcile Deployment", "web")
	if was[0].Attributes["k8s.object.uid"] == is[0].Attributes["k8s.object.uid"] {
		t.Error("the Deployment of the same name has the same UID")
	}
}

func unrelatedChangesStayApart(t *testing.T, bench *harness.Bench) {
	t.Helper()
	ns := bench.Namespace(t)
	o := bench.Oracle(t, ns)
	other := strings.ReplaceAll(Web(ns, bench.Image("app:v1"), 2), "name: web\n  namespace", "name: other\n  namespace")
	other = strings.ReplaceAll(other, "app: web", "app: other")
	bench.MustKubectl(t, other, "apply", "-f", "-")
	r := bench.Run(t, 0, nil, "kubectl", "apply", "-f", harness.File(t, Web(ns, bench.Image("app:v1"), 2)))
	o.Expect(t, r, `
run converged
  reconcile Deployment web converged (request)
    create Deployment web (request)
    reconcile ReplicaSet web-A converged (owner)
      reconcile Pod web-A-* converged (owner) ×2
        [pull image, readiness, sandbox, schedule, start container]
`)
	o.Check(t, r, func(name string, _ audit.Write) int {
		if strings.HasPrefix(name, "other") {
			return -1
		}
		return 0
	})
}
