// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/lab"
)

// commandEnv makes the test binary be the command.
const commandEnv = "LIFELINE_LAB_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandEnv) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// run runs the command in a separate process, as a user does: the cluster must
// outlive the command.
func run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, talk strings.Builder
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), commandEnv+"=1")
	cmd.Stdout, cmd.Stderr = &out, &talk
	err = cmd.Run()
	return out.String(), talk.String(), err
}

func TestUpAndDown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	t.Cleanup(func() { // also when a step failed
		_, _, _ = run(t, "down", "--dir", dir)
	})
	kubeconfig := filepath.Join(dir, "kubeconfig", "admin.yaml")
	older := lab.Versions()[1]
	steps := []struct {
		reason      string
		args        []string
		out, talk   string
		wantFailure bool
	}{
		{
			reason: "For scripts: the newest first.",
			args:   []string{"versions"},
			out:    "\n" + older + "\n",
		},
		{
			reason: "A version that is not there is refused before anything starts.",
			args:   []string{"up", "--dir", dir, "--kubernetes", "1.9"},
			talk:   `no Kubernetes "1.9" here: want `, wantFailure: true,
		},
		{
			reason: "An add-on that is not there is refused before anything is built.",
			args:   []string{"build", "--add-ons", "helm,argo"},
			talk:   `no add-on "argo": want some of [`, wantFailure: true,
		},
		{
			reason: "Only what the shell is to evaluate is on stdout.",
			args:   []string{"up", "--dir", dir, "--name", "cli"},
			out:    "export KUBECONFIG=" + kubeconfig + "\n", talk: "cluster cli ready",
		},
		{
			reason: "A running cluster is not replaced.",
			args:   []string{"up", "--dir", dir, "--name", "cli"},
			talk:   "a cluster is running there", wantFailure: true,
		},
		{
			reason: "The path alone, for scripts.",
			args:   []string{"kubeconfig", "--dir", dir},
			out:    kubeconfig + "\n",
		},
		{
			reason: "Components, pids, logs.",
			args:   []string{"status", dir},
			out:    "kube-apiserver           running  pid ",
		},
		{
			reason: "Another process ends it.",
			args:   []string{"down", "--dir", dir},
			talk:   "ended; logs remain in " + filepath.Join(dir, "log"),
		},
		{
			reason: "What ended can still be asked about.",
			args:   []string{"status", dir},
			out:    "kube-apiserver           ended  pid ",
		},
		{
			reason: "There is nothing to end.",
			args:   []string{"down", "--dir", t.TempDir()},
			talk:   "no cluster in ", wantFailure: true,
		},
	}
	for _, s := range steps {
		out, talk, err := run(t, s.args...)
		if (err != nil) != s.wantFailure {
			t.Fatalf("%s\nlab %s: %v\n%s", s.reason, strings.Join(s.args, " "), err, talk)
		}
		if !strings.Contains(out, s.out) || (s.out == "" && out != "") {
			t.Errorf("%s\nlab %s: stdout %q, want %q", s.reason, strings.Join(s.args, " "), out, s.out)
		}
		if !strings.Contains(talk, s.talk) {
			t.Errorf("%s\nlab %s: stderr %q, want %q", s.reason, strings.Join(s.args, " "), talk, s.talk)
		}
	}
}
