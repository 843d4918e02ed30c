// SPDX-License-Identifier: Apache-2.0

package real

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// pod returns the manifest of a Pod without owner and restarts.
func pod(namespace, name, env string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: %q, env: [%s], readinessProbe: {exec: {command: [/app, ready]}}}]
`, name, namespace, bench.Image("app:v1"), env)
}

const nothingChanged = "lifeline: nothing changed: the command wrote nothing\n"

func TestStreams(t *testing.T) {
	harness.Slow(t)
	ns := bench.Namespace(t)
	bench.MustKubectl(
		t,
		pod(ns, "app", `{name: PORT, value: "9011"}`)+"---"+pod(ns, "talks", `{name: PORT, value: none}`),
		"apply",
		"-f",
		"-",
	)
	bench.MustKubectl(t, "", "-n", ns, "wait", "--for=condition=Ready", "pod/app", "--timeout=4m")
	run := func(args ...string) harness.Call {
		return harness.Call{Args: append([]string{"run", "--", "kubectl", "-n", ns}, args...)}
	}
	t.Run("exec", func(t *testing.T) {
		r := bench.Do(t, run("exec", "app", "--", "/app", "ready"))
		if r.Code != 0 || r.Stdout != "200 OK\n" || r.Stderr != nothingChanged {
			t.Errorf("exit code %d, stdout %q, stderr %q", r.Code, r.Stdout, r.Stderr)
		}
	})
	t.Run("exec of what fails", func(t *testing.T) {
		r := bench.Do(t, run("exec", "app", "--", "/app-is-not-there"))
		if r.Code == 0 || !strings.Contains(r.Stderr, "app-is-not-there") {
			t.Errorf("exit code %d, stderr %q", r.Code, r.Stderr)
		}
	})
	t.Run("logs -f", func(t *testing.T) {
		want := bench.MustKubectl(t, "", "-n", ns, "logs", "-f", "talks")
		r := bench.Do(t, run("logs", "-f", "talks"))
		if r.Code != 0 || r.Stdout != want || want == "" || r.Stderr != nothingChanged {
			t.Errorf("exit code %d, stdout %q, want %q, stderr %q", r.Code, r.Stdout, want, r.Stderr)
		}
	})
	t.Run("logs -f of what goes on", func(t *testing.T) {
		p := bench.Begin(t, run("-v=6", "logs", "-f", "app"))
		p.AwaitStderr(t, "follow=true")
		p.Signal(t, syscall.SIGINT)
		if r := p.Wait(t); r.Code != 130 {
			t.Errorf("exit code %d, want 130\n%s", r.Code, r.Stderr)
		}
		p.NothingLeft(t)
	})
	t.Run("port-forward", func(t *testing.T) {
		p := bench.Begin(t, run("port-forward", "pod/app", ":9011"))
		p.AwaitStdout(t, "Forwarding from 127.0.0.1:")
		address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(p.Stdout())
		for range 3 { // each request is a new stream
			resp, err := http.Get("http://" + address + "/ready")
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("through the tunnel: %s", resp.Status)
			}
		}
		p.SignalGroup(t, syscall.SIGINT)
		if r := p.Wait(t); r.Code != 130 {
			t.Errorf("exit code %d, want 130\n%s", r.Code, r.Stderr)
		}
		p.NothingLeft(t)
	})
}
