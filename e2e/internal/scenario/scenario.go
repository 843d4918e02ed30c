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

// All runs every scenario on the cluster, each in a separate namespace.
func All(t *testing.T, bench *harness.Bench) {
	t.Helper()
	runs := map[string]func(*testing.T, *harness.Bench){
		"delete pod":                   deletePod,
		"name reused":                  nameReused,
		"unrelated changes stay apart": unrelatedChangesStayApart,
	}
	for i := range commands {
		runs[commands[i].name] = commands[i].run
	}
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it waits
			run(t, bench)
		})
	}
}

// command is a scenario of one command and its trace.
type command struct {
	name string
	// before are Deployments that are applied in order, without lifeline.
	before []web
	// apply is applied by the command, if it is not empty. Else the command is kubectl with args, in the namespace.
	apply web
	args  []string
	want  string
}

// web is Deployment web: the tag of its image, and its number of Pods.
type web struct {
	tag      string
	replicas int
}

func (w web) manifest(bench *harness.Bench, namespace string) string {
	return Web(namespace, bench.Image("app:"+w.tag), w.replicas)
}

func (c *command) run(t *testing.T, bench *harness.Bench) {
	t.Helper()
	ns := bench.Namespace(t)
	for _, w := range c.before {
		Given(t, bench, ns, w.manifest(bench, ns))
	}
	o := bench.Oracle(t, ns)
	args := append([]string{"kubectl", "-n", ns}, c.args...)
	if c.apply != (web{}) {
		args = []string{"kubectl", "apply", "-f", harness.File(t, c.apply.manifest(bench, ns))}
	}
	r := bench.Run(t, 0, nil, args...)
	o.Expect(t, r, c.want)
	o.Check(t, r, harness.All)
}

// cascade is the trace of a deletion that removes two Pods, in whichever order.
const cascade = `
run converged
  reconcile Deployment web deleted (request)
    delete Deployment web (request)
    reconcile ReplicaSet web-A deleted (owner)
      reconcile Pod web-A-* deleted (owner) ×2
        [terminate]
`

var commands = []command{
	{
		name: "create", apply: web{"v1", 2},
		want: `
run converged
  reconcile Deployment web converged (request)
    create Deployment web (request)
    reconcile ReplicaSet web-A converged (owner)
      reconcile Pod web-A-* converged (owner) ×2
        [pull image, readiness, sandbox, schedule, start container]
`,
	},
	{
		name: "scale up", before: []web{{"v1", 1}}, args: []string{"scale", "deployment/web", "--replicas=3"},
		want: `
run converged
  reconcile Deployment web converged (request)
    reconcile ReplicaSet web-A converged (owner)
      reconcile Pod web-A-* converged (owner) ×2
        [pull image, readiness, sandbox, schedule, start container]
    update Deployment web (request)
`,
	},
	{
		name: "scale down", before: []web{{"v1", 3}}, args: []string{"scale", "deployment/web", "--replicas=1"},
		want: `
run converged
  reconcile Deployment web converged (request)
    reconcile ReplicaSet web-A converged (owner)
      reconcile Pod web-A-* deleted (owner) ×2
        [terminate]
    update Deployment web (request)
`,
	},
	{
		name: "rollout", before: []web{{"v1", 1}}, apply: web{"v2", 1},
		want: `
run converged
  reconcile Deployment web converged (request)
    reconcile ReplicaSet web-A converged (owner)
      reconcile Pod web-A-* deleted (owner)
        [terminate]
    reconcile ReplicaSet web-B converged (owner)
      reconcile Pod web-B-* converged (owner)
        [pull image, readiness, sandbox, schedule, start container]
    update Deployment web (request)
`,
	},
	{
		name: "undo", before: []web{{"v1", 1}, {"v2", 1}}, args: []string{"rollout", "undo", "deployment/web"},
		want: `
run converged
  reconcile Deployment web converged (request)
    reconcile ReplicaSet web-A converged (owner)
      reconcile Pod web-A-* converged (owner)
        [pull image, readiness, sandbox, schedule, start container]
    reconcile ReplicaSet web-B converged (owner)
      reconcile Pod web-B-* deleted (owner)
        [terminate]
    update Deployment web (request)
`,
	},
	{
		name: "delete in the background", before: []web{{"v1", 2}},
		args: []string{"delete", "deployment/web", "--cascade=background"}, want: cascade,
	},
	{
		name: "delete in the foreground", before: []web{{"v1", 2}},
		args: []string{"delete", "deployment/web", "--cascade=foreground"}, want: cascade,
	},
	{
		name: "delete without dependants", before: []web{{"v1", 2}},
		args: []string{"delete", "deployment/web", "--cascade=orphan"},
		want: `
run converged
  reconcile Deployment web deleted (request)
    delete Deployment web (request)
`,
	},
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
