// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// beginUI starts lifeline ui with its own data directory, and returns it with the URL of the page.
func beginUI(t *testing.T, env []string, args ...string) (p *harness.Process, url string) {
	t.Helper()
	p = bench.Begin(t, harness.Call{Args: append([]string{"ui", "--no-browser"}, args...), Env: env})
	p.AwaitStdout(t, "\n")
	return p, strings.TrimSpace(p.Stdout())
}

// end ends lifeline ui with Ctrl-C.
func end(t *testing.T, p *harness.Process) {
	t.Helper()
	p.Signal(t, syscall.SIGINT)
	if r := p.Wait(t); r.Code != 0 || !strings.HasSuffix(r.Stderr, "all is stored; the next \"lifeline ui\" continues "+
		"from here\n") {
		t.Errorf("lifeline ui: exit code %d, want 0\n%s", r.Code, r.Stderr)
	}
}

// TestUI: without a server, lifeline ui is one until Ctrl-C. The other commands find it, also at another port than
// the default one, and so does a second lifeline ui. The next one continues with the data.
func TestUI(t *testing.T) {
	if taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:7070"); err == nil {
		defer taken.Close() // else another program has the default port, which is as good
	}
	ns := bench.Namespace(t)
	env := []string{"LIFELINE_SERVER=", "XDG_STATE_HOME=" + t.TempDir()}
	p, url := beginUI(t, env, "-n", ns)
	for _, want := range []string{
		"starting one, for namespace " + ns + "; Ctrl-C ends it", "port 7070 is in use by another program",
	} {
		if !strings.Contains(p.Stderr(), want) {
			t.Errorf("no %q in\n%s", want, p.Stderr())
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || !strings.Contains(string(text), "<title>Lifeline</title>") {
		t.Errorf("the page: %v\n%.200s", err, text)
	}
	p.AwaitStderr(t, "lifeline: watching namespace "+ns+"\n")

	bench.MustKubectl(t, "", "-n", ns, "create", "configmap", "ui")
	lists := func() bool {
		r := bench.Begin(t, harness.Call{Args: []string{"ls", "-n", ns}, Env: env}).Wait(t)
		return r.Code == 0 && strings.Contains(r.Stdout, "create ConfigMap ui")
	}
	harness.Eventually(t, "the change in lifeline ls", lists)
	second, same := beginUI(t, env, "-A")
	if r := second.Wait(t); r.Code != 0 || same != url ||
		!strings.Contains(r.Stderr, "watches only namespace "+ns+",") {
		t.Errorf("the second lifeline ui: exit code %d, page %s, want %s\n%s", r.Code, same, url, r.Stderr)
	}
	r := bench.Begin(t, harness.Call{Env: env}).Wait(t)
	if r.Code != 0 || !strings.Contains(r.Stdout, "\nserver   "+url+": ") || r.Stderr != "" {
		t.Errorf("lifeline alone: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	end(t, p)
	for line := range strings.Lines(p.Stderr()) {
		if !strings.HasPrefix(line, "lifeline: ") {
			t.Errorf("noise: %q", line)
		}
	}

	p, _ = beginUI(t, env, "-n", ns)
	harness.Eventually(t, "the change of before in lifeline ls", lists)
	end(t, p)
}

// TestUIWithoutServer: a cluster that does not answer, and lack of all rights, are one line each.
func TestUIWithoutServer(t *testing.T) {
	silent := bench.KubeconfigWith(t, func(c *harness.Config) {
		for name := range c.Clusters {
			c.Clusters[name].Server = "https://127.0.0.1:1"
		}
	})
	nobody := bench.KubeconfigWith(t, func(c *harness.Config) {
		for name := range c.AuthInfos {
			c.AuthInfos[name].Impersonate = "nobody"
		}
	})
	for name, tc := range map[string]struct {
		kubeconfig string
		args, want string
		lines      int
	}{
		"silent": {silent, "", "(https://127.0.0.1:1): dial tcp 127.0.0.1:1: connect: connection refused\n", 1},
		"rights": {nobody, "", "you may watch nothing in namespace default: choose another one with -n\n", 2},
		"all": {
			nobody, "-A", "you may watch nothing in all namespaces at once: choose one with -n, without -A\n", 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := bench.Begin(t, harness.Call{
				Args: strings.Fields("ui " + tc.args), Kubeconfig: tc.kubeconfig,
				Env: []string{"LIFELINE_SERVER=", "XDG_STATE_HOME=" + t.TempDir()},
			}).Wait(t)
			if r.Code != 1 || !strings.HasSuffix(r.Stderr, tc.want) || strings.Count(r.Stderr, "\n") != tc.lines {
				t.Error(fmt.Sprintf("exit code %d, want 1 and %q\n", r.Code, tc.want), r.Stderr)
			}
		})
	}
}
