// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// observer starts lifeline watch or record on a namespace and returns once it
// misses nothing. Its end is leave's to await.
func observer(t *testing.T, namespace string, args ...string) *harness.Process {
	t.Helper()
	p := bench.Begin(t, harness.Call{Args: append(args, "-n", namespace)})
	p.AwaitStderr(t, "; Ctrl-C ends it")
	return p
}

// leave interrupts an observer.
func leave(t *testing.T, p *harness.Process) harness.Result {
	t.Helper()
	p.Signal(t, syscall.SIGINT)
	r := p.Wait(t)
	p.NothingLeft(t)
	return r
}

// recorded ends lifeline record and reads the traces in its file.
func recorded(t *testing.T, p *harness.Process, file string) harness.Result {
	t.Helper()
	if r := leave(t, p); r.Code != 0 {
		t.Fatalf("%s: exit code %d\n%s", p, r.Code, r.Stderr)
	}
	return replayed(t, file)
}

func replayed(t *testing.T, file string) harness.Result {
	t.Helper()
	r := bench.Exec(t, "replay", "-o", "json", file)
	if r.Code != 0 {
		t.Fatalf("replay of %s: exit code %d\n%s", file, r.Code, r.Stderr)
	}
	return harness.Parse(t, r)
}

// apply applies a manifest without lifeline.
func apply(t *testing.T, manifest string) {
	t.Helper()
	bench.MustKubectl(t, manifest, "apply", "-f", "-")
}

// settled waits until a Deployment's rollout is complete.
func settled(t *testing.T, namespace, name string) {
	t.Helper()
	bench.MustKubectl(t, "", "-n", namespace, "rollout", "status", "deployment/"+name, "--timeout=4m")
}

func TestReplayShowsWhatTheRunShowed(t *testing.T) {
	t.Parallel()
	ns := bench.Namespace(t)
	apply(t, deployment(ns, "there", 2))
	settled(t, ns, "there")
	tests := map[string]struct {
		file    string
		code    int
		command []string
	}{
		"create":     {"r", 0, []string{"kubectl", "apply", "-f", harness.File(t, deployment(ns, "web", 2))}},
		"compressed": {"r.gz", 0, []string{"kubectl", "-n", ns, "scale", "deployment/there", "--replicas=1"}},
		"refused write": {
			"r",
			1,
			[]string{"kubectl", "delete", "--raw", "/api/v1/namespaces/" + ns + "/configmaps/none"},
		},
		"self-healing": {"r", 0, []string{"kubectl", "-n", ns, "delete", "pod", "-l", "app=there"}},
		"not settled":  {"r", 3, []string{"kubectl", "apply", "-f", harness.File(t, slow(ns))}},
		"of several things": {
			"r",
			0,
			[]string{
				"kubectl",
				"apply",
				"-f",
				harness.File(t, configMap(ns, "a", "k: v")+"---\n"+configMap(ns, "b", "k: v")),
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), tt.file)
			timeout := "5m"
			if tt.code == 3 {
				timeout = "2s"
			}
			r := bench.Run(t, tt.code, []string{"--timeout", timeout, "--record", file}, tt.command...)
			if diff := cmp.Diff(r.Traces, replayed(t, file).Traces); diff != "" {
				t.Errorf("traces of the run and of its replay (-run +replay):\n%s", diff)
			}
		})
	}
}

func TestObserversAgree(t *testing.T) {
	t.Parallel()
	ns := bench.Namespace(t)
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second.gz")
	a := observer(t, ns, "record", first)
	b := observer(t, ns, "record", second)
	w := observer(t, ns, "watch", "-o", "json")
	o := bench.Oracle(t, ns)
	apply(t, deployment(ns, "web", 2, "lab.lifeline.dev/pull: 15s"))
	w.AwaitStderr(t, "sandbox web-")
	middle := observer(t, ns, "watch", "-o", "json")
	settled(t, ns, "web")
	w.AwaitStdout(t, `"name":"readiness"`)
	middle.AwaitStdout(t, `"name":"readiness"`)
	seen := map[string]harness.Result{
		"record":         recorded(t, a, first),
		"another record": recorded(t, b, second),
		"watch":          harness.Parse(t, leave(t, w)),
	}
	reference := seen["record"]
	const rollout = `
reconcile Deployment web converged
  reconcile ReplicaSet web-A converged (owner)
    reconcile Pod web-A-* converged (owner) ×2
      [pull image, readiness, sandbox, schedule, start container]
`
	for name, r := range seen {
		t.Run(name, func(t *testing.T) {
			namedOutline(t, ns, r, rollout)
			o.Check(t, r, harness.All)
			if diff := cmp.Diff(identities(reference), identities(r)); diff != "" {
				t.Errorf("IDs (-record +%s):\n%s", name, diff)
			}
		})
	}
	t.Run("started in the middle", func(t *testing.T) {
		r := harness.Parse(t, leave(t, middle))
		namedOutline(t, ns, r, rollout)
		if diff := cmp.Diff(identities(reference), identities(r)); diff != "" {
			t.Errorf("IDs (-record +this):\n%s", diff)
		}
		for _, s := range r.Traces[0].Find("reconcile Deployment", "web") {
			if got := s.Attributes["lifeline.time.source.start"]; got != "object" {
				t.Errorf("the start of the rollout is known by %q, want the object's own timestamps", got)
			}
		}
	})
	t.Run("started after the end", func(t *testing.T) {
		late := observer(t, ns, "watch", "-o", "json")
		if r := leave(t, late); r.Stdout != "" {
			t.Errorf("what was over before is told as a change:\n%s", r.Stdout)
		}
	})
}

// identities are the IDs of the spans that stand for something in the cluster.
func identities(r harness.Result) map[string]string {
	out := map[string]string{}
	for _, tr := range r.Traces {
		for _, s := range tr.Spans {
			out[s.Trace+" "+s.ID] = s.Name + " " + s.Object()
		}
	}
	return out
}
