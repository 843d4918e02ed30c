// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// hook is the webhook as a process, `lifeline webhook serve`, and its
// registration with the API server.
type hook struct {
	address           string
	cert, key, cafile string
	process           *harness.Process
}

// newHook returns a webhook that neither runs nor is registered.
func newHook(t testing.TB) *hook {
	t.Helper()
	dir := t.TempDir()
	h := &hook{
		address: harness.Free(t),
		cert:    filepath.Join(dir, "tls.crt"),
		key:     filepath.Join(dir, "tls.key"),
		cafile:  filepath.Join(dir, "ca.crt"),
	}
	cert, key, ca, err := bench.ServingCert()
	if err != nil {
		t.Fatal(err)
	}
	h.files(t, cert, key, ca)
	return h
}

// files gives the webhook another certificate, and another authority to install.
func (h *hook) files(t testing.TB, cert, key, ca []byte) {
	t.Helper()
	for path, text := range map[string][]byte{h.cert: cert, h.key: key, h.cafile: ca} {
		write(t, path, text)
	}
}

func write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// start starts it, or starts it again, and waits until it listens.
func (h *hook) start(t testing.TB) {
	t.Helper()
	h.process = bench.Begin(t, harness.Call{Args: []string{
		"webhook",
		"serve",
		"--address",
		h.address,
		"--tls-cert-file",
		h.cert,
		"--tls-key-file",
		h.key,
		"--telemetry-address",
		"127.0.0.1:0",
	}})
	harness.Eventually(t, "the webhook listening at "+h.address, func() bool {
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", h.address)
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
}

// kill ends it as a crash would.
func (h *hook) kill(t testing.TB) {
	t.Helper()
	h.process.Signal(t, syscall.SIGKILL)
	h.process.Wait(t)
}

// install tells the API server, and waits until that asks. The test ends it.
func (h *hook) install(t testing.TB, flags ...string) {
	t.Helper()
	h.register(t, flags...)
	harness.Eventually(t, "the API server asking the webhook", func() bool { return stamped(t) })
}

// register tells the API server.
func (h *hook) register(t testing.TB, flags ...string) {
	t.Helper()
	mustLifeline(
		t,
		append(
			[]string{"webhook", "install", "--url", "https://" + h.address + "/admission", "--ca-file", h.cafile},
			flags...)...)
	t.Cleanup(func() { mustLifeline(t, "webhook", "uninstall") })
}

// uninstall removes the registration, and waits until the API server stops its
// calls.
func uninstall(t testing.TB) {
	t.Helper()
	mustLifeline(t, "webhook", "uninstall")
	harness.Eventually(t, "the API server asking nobody", func() bool { return !stamped(t) })
}

// stamped reports whether an object that is created gets a context.
func stamped(t testing.TB) bool {
	t.Helper()
	name := fmt.Sprintf("probe-%08x", rand.Uint32())
	out := bench.MustKubectl(t, "", "-n", "default", "create", "configmap", name, "-o", "yaml")
	bench.MustKubectl(t, "", "-n", "default", "delete", "configmap", name, "--wait=false")
	return strings.Contains(out, lifeline.ContextKey)
}

func mustLifeline(t testing.TB, args ...string) {
	t.Helper()
	if r := bench.Do(t, harness.Call{Args: args}); r.Code != 0 {
		t.Fatalf("lifeline %s: exit code %d\n%s%s", strings.Join(args, " "), r.Code, r.Stdout, r.Stderr)
	}
}
