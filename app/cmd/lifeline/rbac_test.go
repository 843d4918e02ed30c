// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestRBAC(t *testing.T) {
	dir := t.TempDir()
	file, bad := filepath.Join(dir, "lifeline.yaml"), filepath.Join(dir, "bad.yaml")
	const head = "apiVersion: lifeline.dev/v1alpha1\nkind: ServerConfiguration\n"
	for path, text := range map[string]string{file: head + "watch: {namespaces: [shop]}\n", bad: head + "wach: {}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		reason, args  string
		code          int
		out, not, log string
	}{
		"Offline": {"", "--offline", 0, "kind: ClusterRole\n", "secrets\"", ""},
		"NoKubeconfig": {
			"is said", "", 0, "kind: ClusterRole\n", "",
			"lifeline: there is no kubeconfig: taking the kinds of Kubernetes itself\n",
		},
		"Namespace": {
			"of the ServiceAccount, not of what is watched", "--offline -n obs --name tracer", 0,
			"name: \"tracer\"\n  namespace: \"obs\"\n", "kind: Role\n", "",
		},
		"Config": {"", "--offline --config " + file, 0, "kind: Role\n", "kind: ClusterRole\n", ""},
		"BadConfig": {
			"", "--offline --config " + bad, 1, "", "kind",
			"lifeline: cannot use the configuration: " + bad +
				":3: wach: Forbidden: unknown field; did you mean watch?\n",
		},
		"BadName": {
			"", "--offline --name a/b", 1, "", "kind",
			"lifeline: cannot make manifests with the name \"a/b\": it must be a DNS label, small letters, digits " +
				"and '-'\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", dir)
			t.Setenv("KUBECONFIG", filepath.Join(dir, "none"))
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			var out, log bytes.Buffer
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &log}
			cmd := newRBAC(streams)
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs(strings.Fields(tc.args))
			if code := codeOf(cmd.ExecuteContext(context.Background()), streams); code != tc.code {
				t.Errorf("%s: code %d, want %d", tc.reason, code, tc.code)
			}
			if !strings.Contains(out.String(), tc.out) || tc.not != "" && strings.Contains(out.String(), tc.not) {
				t.Errorf("%s: want %q, but not %q:\n%s", tc.reason, tc.out, tc.not, &out)
			}
			if log.String() != tc.log {
				t.Errorf("%s: standard error: %q, want %q", tc.reason, &log, tc.log)
			}
		})
	}
}
