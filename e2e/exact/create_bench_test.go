// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// How many Pods are created, by how many ReplicaSets.
const pods, sets = 5000, 10

// BenchmarkCreatePods creates Pods, in each iteration once with the webhook and once
// without, in turn. It reports the median ratios of both.
func BenchmarkCreatePods(b *testing.B) {
	dir := b.TempDir()
	cert, key, ca, err := bench.ServingCert()
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string][]byte{"cert": cert, "key": key, "ca": ca} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	bench.Begin(b, harness.Call{
		Args:     []string{"webhook", "serve", "--webhook-address", calls, "--tls-cert-file", filepath.Join(dir, "cert"), "--tls-private-key-file", filepath.Join(dir, "key"), "--telemetry-address", "127.0.0.1:0"},
		Patience: time.Hour,
	})
	install := []string{"webhook", "install", "--url", "https://" + calls + "/admission", "--ca-file", filepath.Join(dir, "ca")}
	b.Cleanup(func() { bench.Exec(b, "webhook", "uninstall") })
	var wall, cpu []float64
	createPods(b) // the first is slower
	for i := 0; b.Loop(); i++ {
		var took, used [2]time.Duration
		for _, with := range [][]int{{0, 1}, {1, 0}}[i%2] {
			command := []string{"webhook", "uninstall"}
			if with == 1 {
				command = install
			}
			if r := bench.Exec(b, command...); r.Code != 0 {
				b.Fatalf("lifeline %v: %s", command, r.Stderr)
			}
			time.Sleep(3 * time.Second) // until the API server has heard of it
			took[with], used[with] = createPods(b)
		}
		wall = append(wall, took[1].Seconds()/took[0].Seconds())
		cpu = append(cpu, used[1].Seconds()/used[0].Seconds())
		b.Logf("pair %d: %s and %s without, %s and %s with; %s and %s of the API server's processor time a Pod", i+1,
			took[0].Round(time.Millisecond), used[0], took[1].Round(time.Millisecond), used[1], used[0]/pods, used[1]/pods)
	}
	b.ReportMetric(median(wall), "times-as-long")
	b.ReportMetric(median(cpu), "times-the-apiserver-cpu")
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// createPods has Pods created, which nobody schedules: how long it takes until they
// are there, and the API server's processor time. They stay, for taking them away
// goes on for long, and would be part of what is measured next.
func createPods(b *testing.B) (took, used time.Duration) {
	b.Helper()
	ns := bench.Namespace(b)
	var manifest strings.Builder
	for i := range sets {
		fmt.Fprintf(&manifest, `---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {namespace: %s, name: web-%d}
spec:
  replicas: %d
  selector: {matchLabels: {app: web-%[2]d}}
  template:
    metadata: {labels: {app: web-%[2]d}}
    spec:
      schedulerName: nobody
      terminationGracePeriodSeconds: 0
      containers: [{name: web, image: registry/web:1}]
`, ns, i, pods/sets)
	}
	before, start := processorTime(b), time.Now()
	bench.MustKubectl(b, manifest.String(), "apply", "-f", "-")
	bench.MustKubectl(b, "", "-n", ns, "wait", "replicasets", "--all", fmt.Sprintf("--for=jsonpath={.status.replicas}=%d", pods/sets), "--timeout=10m")
	return time.Since(start), processorTime(b) - before
}

// processorTime is what the API server has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	info, err := lab.Inspect(bench.Dir())
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range info.Processes {
		if p.Name != string(lab.APIServer) {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
		if err != nil {
			b.Fatal(err)
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		ticks := 0
		for _, f := range fields[11:13] { // utime and stime, in hundredths of a second
			n, err := strconv.Atoi(f)
			if err != nil {
				b.Fatal(err)
			}
			ticks += n
		}
		return time.Duration(ticks) * 10 * time.Millisecond
	}
	b.Fatal("there is no API server")
	return 0
}
