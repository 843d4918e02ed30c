// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// contexts is a kubeconfig with four ways to authenticate, and what in it must
// not reach a command.
func contexts(t *testing.T, namespace string) (config string, secrets []string) {
	t.Helper()
	bench.MustKubectl(t, "", "-n", namespace, "create", "serviceaccount", "robot")
	token := strings.TrimSpace(bench.MustKubectl(t, "", "-n", namespace, "create", "token", "robot"))
	grantEdit(t, namespace, alice, bob, "system:serviceaccount:"+namespace+":robot")
	plugin := write(t, "plugin", fmt.Sprintf(
		"#!/bin/sh\necho '%s'\n",
		`{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"`+token+`"}}`,
	), 0o700)
	certificate := harness.LoadKubeconfig(t, bench.KubeconfigFor(alice)).AuthInfos[alice]
	dir := t.TempDir()
	own := harness.LoadKubeconfig(t, bench.KubeconfigFor(bob)).AuthInfos[bob]
	for name, data := range map[string][]byte{"cert": own.ClientCertificateData, "key": own.ClientKeyData} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config = bench.KubeconfigWith(t, func(c *harness.Config) {
		cluster := c.Contexts[c.CurrentContext].Cluster
		for name, user := range map[string]*clientcmdapi.AuthInfo{
			"certificate": certificate,
			"files":       {ClientCertificate: filepath.Join(dir, "cert"), ClientKey: filepath.Join(dir, "key")},
			"token":       {Token: token},
			"plugin": {Exec: &clientcmdapi.ExecConfig{
				APIVersion: "client.authentication.k8s.io/v1", Command: plugin,
				InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
			}},
		} {
			c.AuthInfos["user-"+name] = user
			c.Contexts[name] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: "user-" + name, Namespace: namespace}
		}
	})
	admin := harness.LoadKubeconfig(t, bench.Kubeconfig()).AuthInfos["admin"]
	for _, data := range [][]byte{admin.ClientKeyData, certificate.ClientKeyData} {
		secrets = append(secrets, strings.Split(string(data), "\n")[1])
	}
	return config, append(secrets, token, plugin, dir, "client-key", "client-certificate", " exec:")
}

func TestEveryContextIsMirrored(t *testing.T) {
	ns := bench.Namespace(t)
	config, _ := contexts(t, ns)
	script := "set -e\n"
	for _, name := range []string{"certificate", "files", "token", "plugin"} {
		script += fmt.Sprintf("kubectl --context %[1]s create configmap by-%[1]s\n", name)
	}
	script += "kubectl -n " + ns + " create configmap by-admin\nkubectl config get-contexts -o name\n"
	r := harness.Parse(
		t,
		bench.Do(t, harness.Call{Args: []string{"run", "-o", "json", "--", "sh", "-c", script}, Kubeconfig: config}),
	)
	if r.Code != 0 {
		t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
	}
	outline(t, r, `
run converged
  create ConfigMap by-admin (request)
  create ConfigMap by-certificate (request)
  create ConfigMap by-files (request)
  create ConfigMap by-plugin (request)
  create ConfigMap by-token (request)
`)
	bench.CheckRequests(t, r, ns, "kubectl")
	users := map[string]string{}
	for _, w := range bench.Writes(t, r) {
		if w.Namespace == ns && strings.HasPrefix(w.Name, "by-") {
			users[w.Name] = w.User
		}
	}
	robot := "system:serviceaccount:" + ns + ":robot"
	if diff := cmp.Diff(map[string]string{
		"by-admin": "admin", "by-certificate": alice, "by-files": bob, "by-plugin": robot, "by-token": robot,
	}, users); diff != "" {
		t.Errorf("users (-want +got):\n%s", diff)
	}
	if !strings.Contains(r.Stderr, "plugin\n") { // its stdout is there
		t.Errorf("the command does not see the user's contexts:\n%s", r.Stderr)
	}
	t.Run("chosen by flags", func(t *testing.T) {
		r := bench.Do(t, harness.Call{
			Args: []string{
				"run",
				"-o",
				"json",
				"--context",
				"token",
				"--",
				"kubectl",
				"create",
				"configmap",
				"flagged",
			},
			Kubeconfig: config,
		})
		if r.Code != 0 {
			t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
		}
		for _, w := range bench.Writes(t, r) {
			if w.Name == "flagged" && (w.User != robot || w.Namespace != ns) {
				t.Errorf("written by %s in %s, want %s in %s", w.User, w.Namespace, robot, ns)
			}
		}
	})
}

func TestTheCommandGetsNoCredential(t *testing.T) {
	config, secrets := contexts(t, bench.Namespace(t))
	copied := filepath.Join(t.TempDir(), "copy")
	p := bench.Begin(t, harness.Call{
		Args: []string{
			"run",
			"--",
			"sh",
			"-c",
			`stat -c 'mode %a' "$KUBECONFIG" && stat -c 'directory %a' "$(dirname "$KUBECONFIG")" && cat ` +
				`"$KUBECONFIG" && env && cp "$KUBECONFIG" ` + copied,
		},
		Kubeconfig: config,
	})
	r := p.Wait(t)
	if !strings.HasPrefix(r.Stdout, "mode 600\ndirectory 700\n") || !strings.Contains(r.Stdout, "user-plugin") {
		t.Errorf("want a file for its owner only, with the user's own names:\n%s", r.Stdout)
	}
	for _, s := range secrets {
		if strings.Contains(r.Stdout, s) {
			t.Errorf("the command can read %q", s)
		}
	}
	p.NothingLeft(t)
	t.Run("and what it gets is worthless afterwards", func(t *testing.T) {
		p := bench.Begin(
			t,
			harness.Call{Args: []string{"run", "--kubeconfig", copied, "--", "kubectl", "get", "namespaces"}},
		)
		if r := p.Wait(t); r.Code == 0 {
			t.Errorf("the kubeconfig of a run that has ended still works:\n%s", r.Stdout)
		}
	})
}

func TestTheProxyServesItsCommandOnly(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	for name, tt := range map[string]struct{ edit, want string }{
		"wrong token": {`s/token: .*/token: wrong/`, "You must be logged in to the server"},
		"wrong secret": {
			`s#proxy-url: http://\(c[0-9]*\):[^@]*@#proxy-url: http://\1:wrong@#`,
			"Proxy Authentication Required",
		},
		"other server": {`s#server: .*#server: https://127.0.0.1:9#`, "does not know server 127.0.0.1:9"},
	} {
		t.Run(name, func(t *testing.T) {
			r := bench.Exec(
				t,
				"run",
				"--",
				"sh",
				"-c",
				`sed '`+tt.edit+`' "$KUBECONFIG" >`+other+`; KUBECONFIG=`+other+` kubectl get namespaces`,
			)
			if r.Code == 0 || r.Stdout != "" || !strings.Contains(r.Stderr, tt.want) {
				t.Errorf("exit code %d, want a refusal that says %q:\n%s%s", r.Code, tt.want, r.Stdout, r.Stderr)
			}
		})
	}
}

func TestAroundTheProxy(t *testing.T) {
	ns := bench.Namespace(t)
	own := bench.Kubeconfig()
	t.Run("--kubeconfig", func(t *testing.T) {
		r := bench.Exec(t, "run", "--", "kubectl", "--kubeconfig", own, "-n", ns, "create", "configmap", "unseen")
		if r.Code != 0 ||
			!strings.Contains(r.Stderr, "lifeline: --kubeconfig "+own+" leads the command around lifeline") {
			t.Errorf("exit code %d, want 0 and a warning:\n%s", r.Code, r.Stderr)
		}
	})
	t.Run("KUBECONFIG", func(t *testing.T) {
		r := bench.Exec(t, "run", "--", "sh", "-c", "KUBECONFIG="+own+" kubectl -n "+ns+" create configmap unseen-too")
		if r.Code != 0 || !strings.Contains(r.Stderr, "lifeline: the command sets a kubeconfig of its own") {
			t.Errorf("exit code %d, want 0 and a warning:\n%s", r.Code, r.Stderr)
		}
	})
	t.Run("--server", func(t *testing.T) {
		// Another name for the same server.
		server := strings.Replace(bench.ServerURL(), "127.0.0.1", "localhost", 1)
		r := bench.Run(t, 0, nil, "kubectl", "--server", server, "-n", ns, "create", "configmap", "seen")
		outline(t, r, "run converged\n  create ConfigMap seen (request)\n")
	})
}

func TestDiscoveryCacheIsKept(t *testing.T) {
	home := t.TempDir()
	asked := func() (discovery, all int) {
		t.Helper()
		r := bench.Do(t, harness.Call{
			Args: []string{"run", "--", "kubectl", "-v=6", "get", "deployments"},
			Env:  []string{"HOME=" + home},
		})
		if r.Code != 0 {
			t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
		}
		for line := range strings.Lines(r.Stderr) {
			if !strings.Contains(line, "GET") {
				continue
			}
			all++
			if slices.ContainsFunc(
				[]string{"/api?", "/apis?"},
				func(s string) bool { return strings.Contains(line, s) },
			) {
				discovery++
			}
		}
		return discovery, all
	}
	if discovery, _ := asked(); discovery == 0 {
		t.Error("the first run asked for no discovery: the test sees nothing")
	}
	if discovery, all := asked(); discovery != 0 || all == 0 {
		t.Errorf("the second run made %d requests, %d of them discovery; want some and 0", all, discovery)
	}
}

func TestTraceParentOfTheEnvironment(t *testing.T) {
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	ns := bench.Namespace(t)
	r := harness.Parse(t, bench.Do(t, harness.Call{
		Args: []string{"run", "-o", "json", "--", "kubectl", "-n", ns, "create", "configmap", "new"},
		Env:  []string{"TRACEPARENT=00-" + trace + "-" + parent + "-01"},
	}))
	if r.Code != 0 {
		t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
	}
	root, create := r.Traces[0].Find("run", "")[0], r.Traces[0].Find("create ConfigMap", "new")[0]
	if r.Traces[0].ID != trace || root.Parent != parent || create.Parent != root.ID {
		t.Errorf(
			"trace %s, run below %q, write below %q; want %s, %s and the run",
			r.Traces[0].ID,
			root.Parent,
			create.Parent,
			trace,
			parent,
		)
	}
	// The administrator's contexts are trusted: the API server's own span is a
	// child of ours.
	theirs := apiserver.Await(t, 1, func(s *harness.Span) bool { return s.Trace == trace && s.Parent == create.ID })[0]
	if got, want := theirs.Attributes["audit-id"], create.Attributes["k8s.audit_id"]; got != want || want == "" {
		t.Errorf("the API server's span %s has audit-id %q, ours %q", theirs.Name, got, want)
	}
}
