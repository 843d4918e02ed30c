// SPDX-License-Identifier: Apache-2.0

package joined

import (
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

// runProxy runs a program of the module kubelet until the test ends, and waits for its socket.
func runProxy(t *testing.T, name, socket string, args ...string) {
	t.Helper()
	path, err := program.Own(t.Context(), "kubelet", "./cmd/"+name)
	if err != nil {
		t.Fatal(err)
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
