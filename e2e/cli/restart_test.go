// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// restart restarts a component, after a crash if it is to crash.
func restart(t *testing.T, component lab.Component, crash bool) {
	t.Helper()
	if crash {
		if err := bench.Kill(component); err != nil {
			t.Fatal(err)
		}
	}
	if err := bench.Restart(t.Context(), component); err != nil {
		t.Fatal(err)
	}
}

// A restarted API server knows no version from before its start: watches that
// lag behind are answered 410 Gone and must list again. What happened between
// is not to be had then; all else must be there, and nothing else.
func TestObserversOutliveTheAPIServer(t *testing.T) {
	harness.Slow(t)
	tests := map[string]struct {
		component lab.Component
		crash     bool
	}{
		"restart of the API server": {lab.APIServer, false},
		"crash of the API server":   {lab.APIServer, true},
		"crash of etcd":             {lab.Etcd, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ns := bench.Namespace(t)
			apply(t, deployment(ns, "old", 1))
			settled(t, ns, "old")
			o := bench.Oracle(t, ns)
			file := filepath.Join(t.TempDir(), "r")
			rec := observer(t, ns, "record", file)
			w := observer(t, ns, "watch", "-o", "json")

			apply(t, deployment(ns, "before", 1))
			settled(t, ns, "before")
			w.AwaitStdout(t, `"name":"readiness"`)
			restart(t, tt.component, tt.crash)
			apply(t, deployment(ns, "between", 1))
			settled(t, ns, "between")
			w.AwaitStdout(t, `"stringValue":"between"`)
			apply(t, deployment(ns, "after", 1))
			bench.MustKubectl(t, "", "-n", ns, "delete", "deployment/old")
			settled(t, ns, "after")
			w.AwaitStdout(t, `"stringValue":"after"`)
			bench.MustKubectl(t, "", "-n", ns, "wait", "--for=delete", "pod", "-l", "app=old", "--timeout=4m")
			w.AwaitStdout(t, `"name":"terminate"`) // a deletion by somebody unknown is reported after 10 s
			o.Calm(t)

			watched := harness.Parse(t, leave(t, w))
			kept := recorded(t, rec, file)
			o.Final(t, file)
			for name, r := range map[string]harness.Result{"watch": watched, "record": kept} {
				roots := map[string]string{}
				for _, tr := range r.Traces {
					root := tr.Spans[0]
					roots[root.Object()] = root.Name + " " + root.Outcome()
				}
				want := map[string]string{
					"before":  "reconcile Deployment converged",
					"between": "reconcile Deployment converged",
					"after":   "reconcile Deployment converged",
					"old":     "reconcile Deployment deleted",
				}
				if diff := cmp.Diff(want, roots); diff != "" || len(r.Traces) != len(want) {
					t.Errorf("%s: %d changes (-want +got):\n%s", name, len(r.Traces), diff)
				}
			}
			if diff := cmp.Diff(identities(kept), identities(watched)); diff != "" {
				t.Errorf("IDs (-record +watch):\n%s", diff)
			}
			// What was written while both were connected is in the right trace.
			o.CheckOnly(
				t,
				kept,
				func(name string) bool { return strings.HasPrefix(name, "before") || strings.HasPrefix(name, "after") },
			)
		})
	}
}

func TestRunOutlivesTheAPIServer(t *testing.T) {
	harness.Slow(t)
	ns := bench.Namespace(t)
	p := bench.Begin(t, harness.Call{Args: []string{
		"run",
		"-o",
		"json",
		"--",
		"kubectl",
		"apply",
		"-f",
		harness.File(t, deployment(ns, "web", 1, "lab.lifeline.dev/pull: 8s")),
	}})
	p.AwaitStderr(t, "sandbox web-")
	restart(t, lab.APIServer, true)
	r := harness.Parse(t, p.Wait(t))
	if r.Code != 0 {
		t.Errorf("exit code %d\n%s", r.Code, r.Stderr)
	}
	namedOutline(t, ns, r, `
run converged
  reconcile Deployment web converged (request)
    create Deployment web (request)
    reconcile ReplicaSet web-A converged (owner)
      reconcile Pod web-A-* converged (owner)
        [pull image, readiness, sandbox, schedule, start container]
`)
	if n := strings.Count(r.Stderr, "cannot reach the API server"); n > 1 {
		t.Errorf("it says %d times that the API server is not there:\n%s", n, r.Stderr)
	}
}
