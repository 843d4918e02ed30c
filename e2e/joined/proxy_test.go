// SPDX-License-Identifier: Apache-2.0

package joined

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// runProxy runs a program of the module kubelet until the test ends, and waits for its socket.
func runProxy(t *testing.T, name, socket string, args ...string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/"+name)
	build.Dir = filepath.Join("..", "..", "kubelet")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build %s: %v\n%s", name, err, text)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+receiver, "OTEL_BSP_SCHEDULE_DELAY=500")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	harness.Eventually(t, "the socket of "+name, func() bool {
		_, err := os.Stat(socket)
		return err == nil
	})
}
