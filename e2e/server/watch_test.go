// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"syscall"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// interrupted ends a command as Ctrl-C does, and returns its result.
func interrupted(t *testing.T, p *harness.Process) harness.Result {
	t.Helper()
	p.Signal(t, syscall.SIGINT)
	r := p.Wait(t)
	if r.Code != 130 {
		t.Errorf("%s: exit code %d, want 130\n%s", p, r.Code, r.Stderr)
	}
	p.NothingLeft(t)
	return r
}

// created returns the root and outcome of each trace in the output, by its object. It reports
// objects with two traces.
func created(t *testing.T, r harness.Result) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, tr := range harness.Parse(t, r).Traces {
		root := tr.Spans[0]
		if out[root.Object()] != "" {
			t.Errorf("the output has two traces of %s", root.Object())
		}
		out[root.Object()] = root.Name + " " + root.Outcome()
	}
	return out
}

const converged = "reconcile Deployment converged"

// TestWatchOutlivesTheServer: watch shows open traces live, and prints each finished trace once,
// even across a crash and restart of the server.
func TestWatchOutlivesTheServer(t *testing.T) {
	harness.Slow(t)
	ns := bench.Namespace(t)
	s := serve(t, harness.ServerOptions{Args: []string{"--api-address", harness.Free(t)}})
	tree := bench.Begin(t, asking(s, "watch", "-n", ns))
	lines := bench.Begin(t, asking(s, "watch", "-n", ns, "-o", "json"))
	both := []*harness.Process{tree, lines}
	for _, w := range both {
		w.AwaitStderr(t, "watching namespace "+ns+" by the server at http://"+s.APIAddress()+"; Ctrl-C ends it")
	}

	apply(t, deployment(ns, "before", "v1", 1, "pull: 3s"))
	tree.AwaitStderr(t, "sandbox before-") // the rollout is not complete yet
	if strings.Contains(tree.Stdout(), "before") {
		t.Errorf("an open trace is on standard output:\n%s", tree.Stdout())
	}
	tree.AwaitStdout(t, "reconcile Deployment "+ns+"/before   by kubectl   converged in ")
	lines.AwaitStdout(t, `"stringValue":"before"`)

	apply(t, deployment(ns, "during", "v1", 1, "pull: 4s"))
	tree.AwaitStderr(t, "sandbox during-")
	s.Kill(t)
	for _, w := range both {
		w.AwaitStderr(t, "lost the connection to http://"+s.APIAddress()+"; trying again")
	}
	apply(t, deployment(ns, "down", "v1", 1))
	bench.MustKubectl(t, "", "-n", ns, "rollout", "status", "deployment/down", "--timeout=4m")
	s.Start(t)
	for _, w := range both {
		w.AwaitStderr(t, "connected to http://"+s.APIAddress()+" again")
		w.AwaitStdout(t, "during")
	}
	apply(t, deployment(ns, "after", "v1", 1))
	for _, w := range both {
		w.AwaitStdout(t, "after")
	}
	// A trace that finished without a connection may be missing here. It is in the output of ls.
	want := map[string]string{"before": converged, "during": converged, "after": converged}
	got := created(t, interrupted(t, lines))
	delete(got, "down")
	for name, what := range want {
		if got[name] != what {
			t.Errorf("the trace of %s is %q, want %q", name, got[name], what)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("the output has unexpected traces: %v", got)
	}
	if r := interrupted(t, tree); strings.Contains(r.Stdout, "running for") {
		t.Errorf("the output has an open trace:\n%s", r.Stdout)
	}
	r := bench.Do(t, asking(s, "ls", "-n", ns))
	for _, name := range []string{"before", "during", "down", "after"} {
		if n := strings.Count(r.Stdout, "create Deployment "+name+" "); n != 1 {
			t.Errorf("ls lists %d traces of %s, want 1:\n%s%s", n, name, r.Stdout, r.Stderr)
		}
	}
}

// TestWatchIsLeft: on Ctrl-C, watch prints the open traces.
func TestWatchIsLeft(t *testing.T) {
	ns := bench.Namespace(t)
	s := serve(t, harness.ServerOptions{})
	apply(t, deployment(ns, "slow", "v1", 1, "pull: 600s"))
	harness.Eventually(t, "an open trace", func() bool { return s.Open(t) == 1 })
	w := bench.Begin(t, asking(s, "watch", "deployment/slow", "-n", ns))
	w.AwaitStderr(t, "sandbox slow-")
	if r := interrupted(t, w); strings.Count(r.Stdout, "waits for container slow to start") != 2 {
		t.Errorf("the open trace is not printed:\n%s\n%s", r.Stdout, r.Stderr)
	}
	w = bench.Begin(t, asking(s, "watch", "deployment/other", "-n", ns))
	w.AwaitStderr(t, "; Ctrl-C ends it")
	if r := interrupted(t, w); r.Stdout != "" {
		t.Errorf("a trace without the object is printed:\n%s", r.Stdout)
	}
}

// TestNoServer: without a server, watch observes the cluster itself.
func TestNoServer(t *testing.T) {
	ns := bench.Namespace(t)
	nobody := "LIFELINE_SERVER=http://" + harness.Free(t)
	for name, tt := range map[string]struct {
		app  string
		call harness.Call
	}{
		"empty flag":     {"unwanted", harness.Call{Args: []string{"--server", ""}, Env: []string{nobody}}},
		"direct":         {"direct", harness.Call{Args: []string{"--direct"}, Env: []string{nobody}}},
		"empty variable": {"unnamed", harness.Call{Env: []string{"LIFELINE_SERVER="}}},
	} {
		t.Run(name, func(t *testing.T) {
			call := tt.call
			call.Args = append([]string{"watch", "-n", ns, "-o", "json"}, call.Args...)
			p := bench.Begin(t, call)
			// If this machine has a server of another cluster, standard error also has a note on
			// it.
			p.AwaitStderr(t, "watching namespace "+ns+"; Ctrl-C ends it")
			apply(t, deployment(ns, tt.app, "v1", 1))
			p.AwaitStdout(t, tt.app)
			if got := created(t, interrupted(t, p)); got[tt.app] != converged || len(got) != 1 {
				t.Errorf("the output has traces %v, want only the converged one of %s", got, tt.app)
			}
		})
	}
}
