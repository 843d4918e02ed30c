// SPDX-License-Identifier: Apache-2.0

package joined

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

// runProxy runs a program of the module kubelet until the test ends, and waits for its socket.
func runProxy(t *testing.T, name, socket string, args ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/"+name)
	build.Dir = filepath.Join("..", "..", "kubelet")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build %s: %v\n%s", name, err, text)
	}
	program.Run(t, program.Call{
		Path: path, Args: args,
		Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + receiver, "OTEL_BSP_SCHEDULE_DELAY=500"},
	})
	harness.Eventually(t, "the socket of "+name, func() bool {
		_, err := os.Stat(socket)
		return err == nil
	})
}
