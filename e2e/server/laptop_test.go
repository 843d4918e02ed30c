// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// The users of the cluster without any right of their own.
const developer, stranger = "developer", "stranger"

// TestLaptop: a user who may view one namespace uses every command from a laptop, with a kubeconfig only. The answers
// have nothing of another namespace. Without the right, or without the server, one sentence says so.
func TestLaptop(t *testing.T) {
	aggregation, register := bench.Aggregate(t)
	s := serve(t, harness.ServerOptions{Config: "api:\n  authorization: kubernetes\n" + aggregation})
	register()
	shop, hidden := bench.Namespace(t), bench.Namespace(t)
	for _, ns := range []string{shop, hidden} {
		bench.MustKubectl(t, "", "-n", ns, "create", "deployment", "web-of-"+ns, "--image=web:1")
		bench.MustKubectl(t, "", "-n", ns, "rollout", "status", "deployment/web-of-"+ns)
	}
	bench.MustKubectl(t, "", "-n", shop, "create", "rolebinding", "viewer", "--clusterrole=view", "--user="+developer)
	as := func(user string, args ...string) harness.Call {
		return harness.Call{Args: args, Kubeconfig: bench.KubeconfigFor(user), Env: []string{"LIFELINE_SERVER="}}
	}
	web := "deployment/web-of-" + shop
	harness.Eventually(t, "the developer seeing the change", func() bool {
		r := bench.Do(t, as(developer, "ls", "-n", shop))
		return r.Code == 0 && strings.Contains(r.Stdout, "Deployment web-of-"+shop)
	})
	for name, tc := range map[string]struct {
		args      []string
		code      int
		out, said string
	}{
		"ls":         {[]string{"ls", "-n", shop}, 0, "Deployment web-of-" + shop, ""},
		"ls -A":      {[]string{"ls", "-A"}, 0, "web-of-" + shop, "only the namespaces that you may see: " + shop},
		"why":        {[]string{"why", "-n", shop, web}, 0, "web-of-" + shop, ""},
		"why -A":     {[]string{"why", "-A"}, 0, "", "only the namespaces that you may see: " + shop},
		"trace":      {[]string{"trace", "-n", shop, web}, 0, "Deployment web-of-" + shop, ""},
		"find":       {[]string{"find", "-n", shop, `kind == "Pod"`}, 0, "web-of-" + shop, ""},
		"find -A":    {[]string{"find", "-A", `kind == "Pod"`}, 0, "web-of-" + shop, "only the namespaces"},
		"watch":      {[]string{"watch", "-A", "--for", "3s"}, 0, "", "only the namespaces"},
		"completion": {[]string{"__complete", "ls", "-n", shop, "deployment/"}, 0, web, "Completion ended"},
		"elsewhere": {
			[]string{"ls", "-n", hidden}, 0, "", "ask the cluster's admin for view in namespace " + hidden,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := bench.Do(t, as(developer, tc.args...))
			if r.Code != tc.code || !strings.Contains(r.Stdout, tc.out) || !strings.Contains(r.Stderr, tc.said) {
				t.Errorf("code %d, printed\n%s%s\nwant %d with %q and %q",
					r.Code, r.Stdout, r.Stderr, tc.code, tc.out, tc.said)
			}
			if strings.Contains(r.Stdout, hidden) {
				t.Errorf("the output has the hidden namespace:\n%s", r.Stdout)
			}
		})
	}
	// The API server cuts a request after a minute, except for a watch.
	t.Run("a long stream", func(t *testing.T) {
		harness.Slow(t)
		r := bench.Do(t, as(developer, "watch", "-n", shop, "--for", "75s"))
		if r.Code != 0 || strings.Contains(r.Stderr, "stream") {
			t.Errorf("code %d: %s", r.Code, r.Stderr)
		}
	})
	t.Run("page", func(t *testing.T) { checkPage(t, as(developer, "ui", "--no-browser"), shop, hidden) })
	r := bench.Do(t, as(stranger, "ls", "-A"))
	if r.Code != 1 || !strings.Contains(r.Stderr, "ask the cluster's admin for view in namespace default") {
		t.Errorf("a user without a namespace: code %d, %s%s", r.Code, r.Stdout, r.Stderr)
	}
	s.Kill(t)
	r = bench.Do(t, as(developer, "ls", "-n", shop))
	if r.Code != 1 || !strings.Contains(r.Stderr, "the server in the cluster does not answer") {
		t.Errorf("without the server: code %d, %s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// checkPage opens the page of `lifeline ui` and follows a stream of it.
func checkPage(t *testing.T, call harness.Call, shown, hidden string) {
	t.Helper()
	ui := bench.Begin(t, call)
	ui.AwaitStdout(t, "http://127.0.0.1:")
	url := strings.TrimSpace(ui.Stdout())
	for path, want := range map[string]string{"/": "<div id=\"app\">", "/api/v1/traces?limit=500": "web-of-" + shown} {
		code, text, err := harness.Get(t.Context(), url+path)
		if err != nil || code != http.StatusOK || !strings.Contains(string(text), want) {
			t.Errorf("%s: %d %v %.300s, want %q", path, code, err, text, want)
		}
		if strings.Contains(string(text), hidden) {
			t.Errorf("%s has the hidden namespace", path)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/watch?view=summary", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	bench.MustKubectl(t, "", "-n", shown, "scale", "deployment/web-of-"+shown, "--replicas=2")
	for in := bufio.NewScanner(res.Body); ; {
		if !in.Scan() {
			t.Fatalf("the stream ended: %v", in.Err())
		}
		if strings.Contains(in.Text(), "web-of-"+shown) {
			break
		}
	}
	ui.Signal(t, syscall.SIGINT)
	if r := ui.Wait(t); r.Code != 0 {
		t.Errorf("lifeline ui ended with code %d: %s", r.Code, r.Stderr)
	}
}
