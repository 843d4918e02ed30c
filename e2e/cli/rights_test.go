// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// Without the right to read Events the time of an image pull is unknown: no other
// object has it.

// grant gives a user rights in one namespace: to do everything with
// Deployments, and to read what belongs to them.
func grant(t *testing.T, namespace, user string) {
	t.Helper()
	apply(t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: dev, namespace: %[1]s}
rules:
  - {apiGroups: [apps], resources: [deployments], verbs: ["*"]}
  - {apiGroups: [apps], resources: [replicasets], verbs: [get, list, watch]}
  - {apiGroups: [""], resources: [pods], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: dev-%[2]s, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: dev}
subjects: [{kind: User, name: %[2]s}]
`, namespace, user))
}

// grantEdit lets users edit what is in one namespace.
func grantEdit(t *testing.T, namespace string, users ...string) {
	t.Helper()
	args := []string{"-n", namespace, "create", "rolebinding", "edit", "--clusterrole=edit"}
	for _, user := range users {
		args = append(args, "--user="+user)
	}
	bench.MustKubectl(t, "", args...)
}

func TestRightsInOneNamespace(t *testing.T) {
	t.Parallel()
	ns := bench.Namespace(t)
	grant(t, ns, alice)
	config := bench.KubeconfigFor(alice)
	t.Run("run", func(t *testing.T) {
		r := bench.Do(t, harness.Call{
			Args: []string{
				"run",
				"-o",
				"json",
				"-n",
				ns,
				"--",
				"kubectl",
				"apply",
				"-f",
				harness.File(t, deployment(ns, "web", 1)),
			},
			Kubeconfig: config,
		})
		if r.Code != 0 {
			t.Errorf("exit code %d\n%s", r.Code, r.Stderr)
		}
		namedOutline(t, ns, harness.Parse(t, r), `
run converged
  reconcile Deployment web converged (request)
    create Deployment web (request)
    reconcile ReplicaSet web-A converged (owner)
      reconcile Pod web-A-* converged (owner)
        [readiness, sandbox, schedule, start container]
`)
		namedOnce(t, r, "events.events.k8s.io|events")
	})
	t.Run("watch", func(t *testing.T) {
		p := bench.Begin(t, harness.Call{Args: []string{"watch", "-o", "json", "-n", ns}, Kubeconfig: config})
		p.AwaitStderr(t, "; Ctrl-C ends it")
		bench.MustKubectl(t, "", "-n", ns, "scale", "deployment/web", "--replicas=2")
		p.AwaitStdout(t, `"name":"readiness"`)
		r := harness.Parse(t, leave(t, p))
		namedOutline(t, ns, r, `
reconcile Deployment web converged
  reconcile ReplicaSet web-A converged (owner)
    reconcile Pod web-A-* converged (owner)
      [readiness, sandbox, schedule, start container]
`)
		namedOnce(t, r, "events.events.k8s.io|events", "secrets", "configmaps", "services")
	})
}

// namedOnce checks that each resource is named exactly once as one that may not
// be watched; alternatives are separated by |.
func namedOnce(t *testing.T, r harness.Result, resources ...string) {
	t.Helper()
	said := map[string]int{}
	for line := range strings.Lines(r.Stderr) {
		_, list, ok := strings.Cut(line, "not permitted to watch ")
		if !ok {
			continue
		}
		_, list, _ = strings.Cut(list, ": ")
		list, _, _ = strings.Cut(list, ";")
		for name := range strings.SplitSeq(list, ", ") {
			said[name]++
		}
	}
	for _, resource := range resources {
		times := 0
		for name := range strings.SplitSeq(resource, "|") {
			times += said[name]
		}
		if times != 1 {
			t.Errorf("%s is named %d times as not permitted, want once:\n%s", resource, times, r.Stderr)
		}
	}
}
