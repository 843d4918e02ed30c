// SPDX-License-Identifier: Apache-2.0

package kwok

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab/audit"
)

// web is a Deployment; annotations go onto its Pods, where the fake nodes look
// for delays.
func web(namespace, image string, replicas int, annotations ...string) string {
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
`, namespace, replicas, meta, image)
}

// given applies a manifest without lifeline and waits for the rollout.
func given(t *testing.T, namespace, manifest string) {
	t.Helper()
	bench.MustKubectl(t, manifest, "apply", "-f", "-")
	bench.MustKubectl(t, "", "-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")
}

func TestCreate(t *testing.T) {
	ns := bench.Namespace(t)
	o := bench.Oracle(t, ns)
	r := bench.Run(t, 0, nil, "kubectl", "apply", "-f", harness.File(t, web(ns, "web:1", 2)))
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

func TestScaleUp(t *testing.T) {
	ns := bench.Namespace(t)
	given(t, ns, web(ns, "web:1", 1))
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

func TestScaleDown(t *testing.T) {
	ns := bench.Namespace(t)
	given(t, ns, web(ns, "web:1", 3))
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

func TestRollout(t *testing.T) {
	ns := bench.Namespace(t)
	given(t, ns, web(ns, "web:1", 1))
	o := bench.Oracle(t, ns)
	r := bench.Run(t, 0, nil, "kubectl", "apply", "-f", harness.File(t, web(ns, "web:2", 1)))
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

func TestUndo(t *testing.T) {
	ns := bench.Namespace(t)
	given(t, ns, web(ns, "web:1", 1))
	given(t, ns, web(ns, "web:2", 1))
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

func TestDelete(t *testing.T) {
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
	for cascade, tt := range tests {
		t.Run(cascade, func(t *testing.T) {
			ns := bench.Namespace(t)
			given(t, ns, web(ns, "web:1", 2))
			o := bench.Oracle(t, ns)
			r := bench.Run(t, 0, nil, "kubectl", "-n", ns, "delete", "deployment/web", "--cascade="+cascade)
			o.Expect(t, r, tt.want)
			o.Check(t, r, harness.All)
		})
	}
}

func TestDeletePod(t *testing.T) {
	ns := bench.Namespace(t)
	given(t, ns, web(ns, "web:1", 1))
	var seen []string
	for range 2 {
		name := strings.TrimSpace(bench.MustKubectl(t, "", "-n", ns, "get", "pods", "--field-selector=status.phase=Running", "-o", "jsonpath={.items[0].metadata.name}"))
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
			return harness.Somewhere // a status that tells of both Pods
		})
		for _, tr := range r.Traces {
			seen = append(seen, tr.ID)
		}
		bench.MustKubectl(t, "", "-n", ns, "wait", "--for=delete", "pod/"+name, "--timeout=30s")
	}
	for i := range seen {
		for j := range i {
			if seen[i] == seen[j] {
				t.Errorf("two self-healings share trace %s", seen[i])
			}
		}
	}
}

func TestNameReused(t *testing.T) {
	ns := bench.Namespace(t)
	manifest := web(ns, "web:1", 1)
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

func TestSecondRolloutWhileFirstIsOpen(t *testing.T) {
	ns := bench.Namespace(t)
	slow := harness.File(t, web(ns, "web:1", 1, "lab.lifeline.dev/pull=60s"))
	o := bench.Oracle(t, ns)
	first := make(chan harness.Result, 1)
	go func() { first <- bench.Exec(t, "run", "-o", "json", "--", "kubectl", "apply", "-f", slow) }()
	bench.MustKubectl(t, "", "-n", ns, "wait", "--for=create", "deployment/web", "--timeout=30s")
	bench.MustKubectl(t, "", "-n", ns, "wait", "--for=jsonpath={.status.unavailableReplicas}=1", "deployment/web", "--timeout=30s")
	r := bench.Run(t, 0, nil, "kubectl", "apply", "-f", harness.File(t, web(ns, "web:2", 1)))
	o.Expect(t, r, `
run converged
  reconcile Deployment web converged (request) ~previous
    reconcile ReplicaSet web-A converged (owner) ~previous
      reconcile Pod web-A-* deleted (owner) ~previous
        [terminate]
    reconcile ReplicaSet web-B converged (owner)
      reconcile Pod web-B-* converged (owner)
        [pull image, readiness, sandbox, schedule, start container]
    update Deployment web (request)
`)
	was := <-first
	if was.Code != 0 {
		t.Fatalf("the superseded run ended with %d\n%s", was.Code, was.Stderr)
	}
	o.Expect(t, harness.Parse(t, was), `
run superseded
  reconcile Deployment web superseded (request)
    create Deployment web (request)
    reconcile ReplicaSet web-A superseded (owner)
      reconcile Pod web-A-* superseded (owner)
        [pull image, sandbox, schedule]
`)
}

func TestUnrelatedChangesStayApart(t *testing.T) {
	ns := bench.Namespace(t)
	o := bench.Oracle(t, ns)
	other := strings.ReplaceAll(web(ns, "web:1", 2), "name: web\n  namespace", "name: other\n  namespace")
	other = strings.ReplaceAll(other, "app: web", "app: other")
	bench.MustKubectl(t, other, "apply", "-f", "-")
	r := bench.Run(t, 0, nil, "kubectl", "apply", "-f", harness.File(t, web(ns, "web:1", 2)))
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
