// SPDX-License-Identifier: Apache-2.0

package kwok

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/scenario"
)

// BenchmarkApply alternates between kubectl apply and the same with lifeline run. It changes a
// ConfigMap, which has no controller, and a Deployment without replicas. x-command is the factor
// for the time of the kubectl process, without Lifeline's work before and after. x-total is the
// factor until the prompt returns, including the wait until the change has settled.
func BenchmarkApply(b *testing.B) {
	for name, manifest := range map[string]func(namespace string, i int) string{
		"ConfigMap": func(namespace string, i int) string {
			return fmt.Sprintf(
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: %s}\ndata: {i: \"%d\"}\n",
				namespace, i,
			)
		},
		"Deployment": func(namespace string, i int) string {
			return scenario.Web(namespace, fmt.Sprintf("web:%d", i), 0)
		},
	} {
		b.Run(name, func(b *testing.B) {
			ns := bench.Namespace(b)
			applyAlone(b, harness.File(b, manifest(ns, 0))) // fills the discovery cache
			var alone, command, total time.Duration
			i := 0
			for b.Loop() {
				i++
				alone += applyAlone(b, harness.File(b, manifest(ns, 2*i)))
				c, t := applyTraced(b, harness.File(b, manifest(ns, 2*i+1)))
				command, total = command+c, total+t
			}
			b.ReportMetric(0, "ns/op") // their sum means nothing
			b.ReportMetric(float64(alone.Milliseconds())/float64(i), "ms-alone")
			b.ReportMetric(float64(command)/float64(alone), "x-command")
			b.ReportMetric(float64(total)/float64(alone), "x-total")
		})
	}
}

func applyAlone(b *testing.B, file string) time.Duration {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), bench.Kubectl(), "apply", "-f", file)
	cmd.Env = bench.Env(bench.Kubeconfig())
	begin := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("kubectl apply: %v\n%s", err, out)
	}
	return time.Since(begin)
}

func applyTraced(b *testing.B, file string) (command, total time.Duration) {
	b.Helper()
	// The command measures its own time, without Lifeline's.
	const script = `a=$(date +%s%N); kubectl apply -f "$0" >/dev/null || exit; b=$(date +%s%N); echo "took $((b-a))"`
	r := bench.Run(b, 0, nil, "sh", "-c", script, file)
	_, text, _ := strings.Cut(r.Stderr, "took ")
	text, _, _ = strings.Cut(text, "\n")
	took, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		b.Fatalf("the command did not print its time: %v\n%s", err, r.Stderr)
	}
	return time.Duration(took), r.Ended.Sub(r.Began)
}
