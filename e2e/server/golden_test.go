// SPDX-License-Identifier: Apache-2.0

package server

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// shows compares the output and the exit code of a command with its golden file.
func (s *story) shows(t *testing.T, name string, args ...string) {
	t.Helper()
	got := s.text(t, bench.Do(t, asking(s.server, args...)))
	file := filepath.Join("testdata", name+".out")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("cannot read golden file (run with -update to write it): %v", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("lifeline %v: -want +got:\n%s", args, diff)
	}
}

// TestStory: each command has the right output at each step of a story.
func TestStory(t *testing.T) {
	s := begin(t)
	s.shows(t, "ls-nothing", "ls", "-n", s.shop)

	apply(t, deployment(s.shop, "web", "v1", 2, "pull: 1s"))
	s.await(t, 1, 0)
	s.kubectl(t, s.shop, "create", "configmap", "settings", "--from-literal=colour=blue")
	s.await(t, 1, 0)
	apply(t, deployment(s.shop, "web", "v2", 2, "pull: 1s"))
	s.await(t, 1, 0)
	s.shows(t, "trace-rollout", "trace", "deployment/web", "-n", s.shop)
	s.shows(t, "trace-rollout-table", "trace", "deployment/web", "-n", s.shop, "-o", "table")
	s.kubectl(t, s.shop, "scale", "deployment/web", "--replicas=3")
	s.await(t, 1, 0)
	newest := "jsonpath={.items[-1:].metadata.name}" // the Pod of the scaling
	pods := s.kubectl(t, s.shop, "get", "pods", "--sort-by=.metadata.creationTimestamp", "-o", newest)
	s.kubectl(t, s.shop, "delete", "pod", pods)
	s.await(t, 2, 0)
	s.shows(t, "trace-healing", "trace", s.newest(t, 0))
	s.shows(t, "trace-deleted-pod", "trace", "pod/"+pods, "-n", s.shop)
	s.shows(t, "trace-rebuilt", "trace", "deployment/web", "-n", s.shop, "--direct")

	apply(t, hasty(deployment(s.shop, "web", "v3", 3, "pull-error: not found", "backoff: 600s")))
	s.fails(t)
	s.await(t, 1, 0)
	s.shows(t, "trace-failing", "trace", "deploy/web", "-n", s.shop)
	s.shows(t, "ls-failing", "ls", "-n", s.shop, "--failed", "-o", "wide")
	s.kubectl(t, s.shop, "rollout", "undo", "deployment/web")
	s.await(t, 1, 0)
	s.shows(t, "trace-failed", "trace", s.newest(t, 1)[:8])
	s.shows(t, "trace-undo", "trace", "deployment.apps/web", "-n", s.shop, "--all")

	s.kubectl(t, s.shop, "patch", "configmap", "settings", "-p", `{"data":{"colour":"red"}}`)
	s.await(t, 1, 0)
	apply(t, deployment(s.pay, "api", "v1", 1, "pull: 30s"))
	s.await(t, 1, 0)
	s.shows(
		t,
		"trace-rebuilt-replicaset",
		"trace",
		"rs/"+s.kubectl(t, s.pay, "get", "rs", "-o", "jsonpath={.items[0].metadata.name}"),
		"-n",
		s.pay,
		"--server",
		"",
	)
	s.shows(t, "ls-slow", "ls", "-A", "--slow=25s")
	s.kubectl(t, s.pay, "delete", "deployment/api") // with one ReplicaSet, as the order of several is random
	s.await(t, 1, 0)
	s.shows(t, "trace-deleted", "trace", "deployments/api", "-n", s.pay)
	s.shows(t, "trace-gone", "trace", "deployments/api", "-n", s.pay, "--direct")
	apply(t, hasty(deployment(s.pay, "bad", "v1", 1, "pull-error: not found", "backoff: 600s")))
	s.fails(t)
	s.await(t, 1, 0)
	apply(t, deployment(s.pay, "slow", "v1", 1, "pull: 600s"))
	s.await(t, 1, 1)
	s.lists(t, s.pay, "deployment/slow", "pull image")
	s.shows(t, "trace-open", "trace", "deployment/slow", "-n", s.pay)

	s.shows(t, "ls", "ls", "-n", s.shop)
	s.shows(t, "ls-all", "ls", "-A", "-o", "wide")
	s.shows(t, "ls-open", "ls", "-A", "--open")
	s.shows(t, "ls-failed", "ls", "-A", "--failed")
	s.shows(t, "ls-object", "ls", "deployment/web", "-n", s.shop)
	s.shows(t, "ls-limit", "ls", "-A", "--limit", "2", "--no-trunc")
	s.shows(t, "ls-namespace", "ls", "-n", s.pay)
}
