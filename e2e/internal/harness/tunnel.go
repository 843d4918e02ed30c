// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"net/http"
	"regexp"
	"syscall"
	"testing"
)

var loopback = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// Tunnel opens a tunnel to port 8080 of what (pod/web-1) with kubectl
// port-forward, sends one request, GET /ready, and closes the tunnel.
func (b *Bench) Tunnel(t testing.TB, namespace, what string) {
	t.Helper()
	p := b.Begin(t, Call{Args: []string{"run", "--", "kubectl", "-n", namespace, "port-forward", what, ":8080"}})
	p.AwaitStdout(t, "Forwarding from 127.0.0.1:")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://"+loopback.FindString(p.Stdout())+"/ready", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("through the tunnel: %s", resp.Status)
	}
	p.SignalGroup(t, syscall.SIGINT)
	p.Wait(t)
}
