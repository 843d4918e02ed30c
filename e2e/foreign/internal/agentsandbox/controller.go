// SPDX-License-Identifier: Apache-2.0

package agentsandbox

import (
	"path/filepath"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

// CRDs returns the directory of the definitions of its kinds, where dir is
// what Build returned.
func CRDs(dir string) string { return filepath.Join(dir, crds) }

// Run runs the controller that Build put into dir for as long as a test takes.
// It works with that kubeconfig, sends its spans to endpoint (host:port, OTLP
// over gRPC; empty leaves its tracing off, as it is by default), and listens
// nowhere. Its kinds must exist.
func Run(t testing.TB, dir, kubeconfig, endpoint string) {
	t.Helper()
	call := program.Call{
		Path: filepath.Join(dir, controller),
		Args: []string{
			"--extensions",
			"--leader-elect=false",
			"--metrics-bind-address=0",
			"--health-probe-bind-address=0",
		},
		Env: []string{"KUBECONFIG=" + kubeconfig},
	}
	if endpoint != "" {
		call.Args = append(call.Args, "--enable-tracing")
		call.Env = append(call.Env, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+endpoint, "OTEL_BSP_SCHEDULE_DELAY=100")
	}
	program.Run(t, call)
}
