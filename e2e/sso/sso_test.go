// SPDX-License-Identifier: Apache-2.0

package sso

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/sso/internal/issuer"
)

// change is one change of a pipeline in two namespaces: the objects have the same context.
const change = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s-app
  namespace: %[1]s
  annotations: {tracing.k8s.io/traceparent: "00-%[2]s-00f067aa0ba902b7-01"}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s-app}}
  template:
    metadata: {labels: {app: %[1]s-app}}
    spec: {containers: [{name: main, image: "%[1]s-image:1"}]}
---
`

// traceID is that of the change.
const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"

// TestSSO: alice and bob see the part of one change in their namespaces, and carol sees all of it, by the commands with
// a kubeconfig and by the page behind oauth2-proxy.
func TestSSO(t *testing.T) {
	harness.Slow(t)
	aggregation, register := bench.Aggregate(t)
	cert, key, authority := bench.CertFiles(t)
	s := bench.Server(t, harness.ServerOptions{Config: fmt.Sprintf(`api:
  authorization: kubernetes
  tls: {certFile: %q, keyFile: %q}
%s  authentication: %s
`, cert, key, aggregation, values(t, provider.URL(), provider.CAFile))})
	proxy := harness.Free(t)
	provider.Run(t, []issuer.Client{
		kubectl, {ID: pageClient, Secret: pageSecret, RedirectURIs: []string{"http://" + proxy + "/oauth2/callback"}},
	}, people)
	s.Start(t)
	register()
	for _, ns := range []string{"shop", "web"} {
		bench.MustKubectl(t, "", "create", "namespace", ns)
		bind(t, "-n", ns, "rolebinding", ns)
	}
	bind(t, "-n", "default", "clusterrolebinding", "platform")
	bench.MustKubectl(t, fmt.Sprintf(change, "shop", traceID)+fmt.Sprintf(change, "web", traceID), "apply", "-f", "-")
	for _, ns := range []string{"shop", "web"} {
		bench.MustKubectl(t, "", "-n", ns, "rollout", "status", "deployment/"+ns+"-app")
	}
	t.Run("commands", func(t *testing.T) { checkCommands(t) })
	t.Run("tokens", func(t *testing.T) { checkTokens(t, s, authority) })
	t.Run("page", func(t *testing.T) { checkPages(t, s, authority, proxy) })
}

// bind gives a group of the issuer the ClusterRole view by a binding of that kind.
func bind(t *testing.T, flag, namespace, kind, group string) {
	t.Helper()
	bench.MustKubectl(t, "", flag, namespace, "create", kind, group, "--clusterrole=view",
		"--group="+groupsPrefix+group)
}

// sees are the namespaces of each person.
var sees = map[string][]string{"alice": {"shop"}, "bob": {"web"}, "carol": {"shop", "web"}}

// check compares what a text has of the change with what a person may see of it. A row of a list names one object.
func check(t *testing.T, person, what, text string, row bool) {
	t.Helper()
	shown := 0
	for _, ns := range []string{"shop", "web"} {
		switch named := strings.Contains(text, ns+"-app") || strings.Contains(text, ns+"-image"); {
		case slices.Contains(sees[person], ns) && named:
			shown++
		case named:
			t.Errorf("%s: %s has something of namespace %s:\n%.4000s", person, what, ns, text)
		}
	}
	if want := len(sees[person]); shown != want && (!row || shown == 0) {
		t.Errorf("%s: %s has %d of %d namespaces:\n%.4000s", person, what, shown, want, text)
	}
}

// checkKubectl lists the changes as a person. A list of all namespaces needs the right to all of them.
func checkKubectl(t *testing.T, person, file string) {
	t.Helper()
	get := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), bench.Kubectl(), append([]string{"get", "changes"}, args...)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+file, "KUBECACHEDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, ns := range []string{"shop", "web"} {
		out, err := get("-n", ns)
		if may := slices.Contains(sees[person], ns); may != (err == nil) || may != strings.Contains(out, ns+"-app") {
			t.Errorf("%s: kubectl get changes -n %s: %v\n%s", person, ns, err, out)
		}
	}
	if out, err := get("-A"); (err == nil) != (len(sees[person]) == 2) {
		t.Errorf("%s: kubectl get changes -A: %v\n%s", person, err, out)
	}
}

// checkTokens sends the token for kubectl to the server: it could open the cluster, so that the server must not accept
// it. Neither is a request without a token.
func checkTokens(t *testing.T, s *harness.Server, authority string) {
	t.Helper()
	token := provider.Login(t, kubectl, "carol", password)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, more := range map[string][]string{
		"the token is not for this server": {"--token-file", file}, "requires a token": nil,
	} {
		r := bench.Do(t, harness.Call{Args: append([]string{
			"ls", "-A", "--server", "https://" + s.APIAddress(), "--ca-file", authority,
		}, more...)})
		if r.Code != 1 || r.Stdout != "" || !strings.Contains(r.Stderr, want) {
			t.Errorf("code %d, want 1 with %q\n%s%s", r.Code, want, r.Stdout, r.Stderr)
		}
	}
}

// checkCommands runs the commands as each person, with the token of a login in the kubeconfig.
func checkCommands(t *testing.T) {
	t.Helper()
	for person := range people {
		file := kubeconfig(t, person)
		do := func(args ...string) harness.Result {
			return bench.Do(t, harness.Call{Args: args, Kubeconfig: file, Env: []string{"LIFELINE_SERVER="}})
		}
		var last harness.Result
		harness.Eventually(t, person+" seeing the change", func() bool {
			last = do("ls", "-A", "--no-trunc")
			return last.Code == 0 && strings.Contains(last.Stdout, sees[person][0]+"-app")
		})
		for _, args := range [][]string{
			{"ls", "-A"}, {"trace", traceID}, {"find", "-A", `kind == "Deployment"`}, {"watch", "-A", "--for", "2s"},
		} {
			r := do(args...)
			if r.Code != 0 {
				t.Errorf("%s: lifeline %s: code %d\n%s", person, strings.Join(args, " "), r.Code, r.Stderr)
			}
			if args[0] != "watch" { // nothing is open
				check(t, person, "lifeline "+strings.Join(args, " "), r.Stdout, args[0] == "ls")
			}
		}
		checkKubectl(t, person, file)
		for _, ns := range sees[person] {
			r := do("why", "-n", ns, "deployment/"+ns+"-app")
			if r.Code != 0 || !strings.Contains(r.Stdout, ns+"-app") {
				t.Errorf("%s: why: code %d\n%s%s", person, r.Code, r.Stdout, r.Stderr)
			}
		}
	}
}
