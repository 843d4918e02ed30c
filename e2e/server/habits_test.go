// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// TestKubectlHabits: flags and words of kubectl have their usual meaning.
func TestKubectlHabits(t *testing.T) {
	t.Parallel()
	s := bench.Server(t, harness.ServerOptions{})
	s.Start(t)
	ns := bench.Namespace(t)
	apply(t, deployment(ns, "web", "v1", 1))
	apply(t, deployment(ns, "api", "v1", 1))
	for _, name := range []string{"web", "api"} {
		bench.MustKubectl(t, "", "-n", ns, "rollout", "status", "deployment/"+name, "--timeout=4m")
	}
	bench.MustKubectl(t, "", "-n", ns, "label", "deployment", "web", "tier=front")
	s.AwaitIdle(t)
	ls := func(args ...string) string {
		t.Helper()
		r := bench.Exec(t, append([]string{"ls", "-n", ns, "--server", "http://" + s.APIAddress()}, args...)...)
		if r.Code != 0 {
			t.Fatalf("ls %v: code %d\n%s", args, r.Code, r.Stderr)
		}
		return r.Stdout
	}
	if out := ls("-l", "tier=front"); !strings.Contains(out, "Deployment web") ||
		strings.Contains(out, "Deployment api") {
		t.Errorf("ls -l tier=front prints\n%s", out)
	}
	if out := ls("deploy", "api", "--since", "1d"); !strings.Contains(out, "Deployment api") ||
		strings.Contains(out, "Deployment web") {
		t.Errorf("ls deploy api prints\n%s", out)
	}
	if out := ls("deploy", "--sort-by", "start"); strings.Index(out, "Deployment web") > strings.Index(
		out,
		"Deployment api",
	) {
		t.Errorf("ls --sort-by start prints\n%s", out)
	}
	id := strings.TrimSpace(ls("deploy/web", "-o", "name", "--sort-by", "start", "--limit", "1"))
	for _, words := range [][]string{{id}, {"deploy", "web"}} {
		r := bench.Exec(t, append([]string{"trace", "-n", ns, "--server", "http://" + s.APIAddress()}, words...)...)
		if r.Code != 0 || !strings.Contains(r.Stdout, "web") {
			t.Errorf("trace %v: code %d\n%s\n%s", words, r.Code, r.Stdout, r.Stderr)
		}
	}
}
