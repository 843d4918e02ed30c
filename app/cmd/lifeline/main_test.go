// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCommandLine(t *testing.T) {
	cases := map[string]struct {
		reason string
		argv0  string
		args   string
		code   int
		out    string
		log    string
	}{
		"Version":      {"", "lifeline", "version", 0, "lifeline ", ""},
		"Plugin":       {"as a plugin of kubectl it is called so", "/bin/kubectl-lifeline", "run --help", 0, "kubectl lifeline run [flags] -- COMMAND", ""},
		"NoKubeconfig": {"one clear line", "lifeline", "run -- true", 1, "", "lifeline: there is no kubeconfig: set KUBECONFIG or --kubeconfig, or have one at ~/.kube/config\n"},
		"NoCommand":    {"", "lifeline", "run", 1, "", "lifeline: there is no command to run: lifeline run [flags] -- COMMAND\n"},
		"BadTimeout":   {"", "lifeline", "run --timeout 0s -- true", 1, "", "lifeline: --timeout 0s: it must be more than 0\n"},
		"BadFlag":      {"", "lifeline", "run --nosuch -- true", 1, "", "lifeline: unknown flag: --nosuch\n"},
		"BadOutput":    {"", "lifeline", "replay -o xml f", 1, "", "lifeline: unknown output \"xml\": known are tree, table, json\n"},
		"NoRecording":  {"the file is named", "lifeline", "replay /no/such/file", 1, "", "lifeline: cannot open recording: open /no/such/file: no such file or directory\n"},
		"BadConfig":    {"the file is named", "lifeline", "run --kubeconfig /no/such/file -- true", 1, "", "/no/such/file"},
		"Contexts":     {"what a kubeconfig names is completed", "lifeline", "__complete watch --kubeconfig testdata/kubeconfig.yaml --context ", 0, "blue\ngreen\n", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			t.Setenv("KUBECONFIG", filepath.Join(os.Getenv("HOME"), "none"))
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			var out, log bytes.Buffer
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &log}
			root := newRoot(streams, tc.argv0)
			root.SetArgs(strings.Split(tc.args, " "))
			if code := codeOf(root.ExecuteContext(context.Background()), streams); code != tc.code {
				t.Errorf("%s: code %d, want %d", tc.reason, code, tc.code)
			}
			if !strings.Contains(out.String(), tc.out) {
				t.Errorf("%s: standard output lacks %q:\n%s", tc.reason, tc.out, &out)
			}
			if !strings.Contains(log.String(), tc.log) {
				t.Errorf("%s: standard error lacks %q:\n%s", tc.reason, tc.log, &log)
			}
			if tc.code != 0 && strings.Count(log.String(), "\n") != 1 {
				t.Errorf("%s: not one line:\n%s", tc.reason, &log)
			}
		})
	}
}
