// SPDX-License-Identifier: Apache-2.0

package agentsandbox

import (
	"path/filepath"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

// CRDs returns the folder of the CustomResourceDefinitions; dir is the result of Build.
func CRDs(dir string) string { return filepath.Join(dir, crds) }

// Run runs the controller until the test ends; dir is the result of Build. The controller sends its
// spans to endpoint, as OTLP over gRPC. The endpoint is host:port; empty means no tracing, the
// controller's default. The controller opens no listener. Its CustomResourceDefinitions must exist.
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
