// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// way is a cluster with some webhook or none.
type way struct {
	name    string
	install func()
}

// The ways that are compared.
const (
	withNone = iota
	withOurs
	withoutPods
	withEmpty
	ways // so many
)

// newWays returns clusters without a webhook, with ours, and with ours for all kinds but Pods. The last has a webhook
// that admits the same requests unchanged: the cost of any webhook.
func newWays(b *testing.B) [ways]way {
	b.Helper()
	ours := newHook(b)
	ours.start(b)
	yes := newLiar(
		b,
		func(out http.ResponseWriter, uid string) { _, _ = io.WriteString(out, reviewed(uid, `"allowed":true`)) },
	)
	return [ways]way{
		withNone:    {name: "no-webhook", install: func() {}},
		withOurs:    {name: "webhook", install: func() { ours.install(b) }},
		withoutPods: {name: "webhook-without-pods", install: func() { ours.install(b, "--exclude", "pods") }},
		withEmpty:   {name: "empty-webhook", install: func() { yes.asked.Store(0); yes.install(b) }},
	}
}

// compare measures each way once, in an order that is turned around in each round.
// The result of measure is what is compared, and whether any object that it created
// was given a context.
func compare[T any](b *testing.B, all [ways]way, round int, measure func(w way) (T, bool)) [ways]T {
	b.Helper()
	var out [ways]T
	for i := range all {
		if round%2 == 1 {
			i = len(all) - 1 - i
		}
		all[i].install()
		result, given := measure(all[i])
		uninstall(b)
		time.Sleep(2 * time.Second) // until the API server has seen the removal
		if given != (i == withOurs) {
			b.Errorf("%s: given a context: %t", all[i].name, given)
		}
		out[i] = result
	}
	return out
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// BenchmarkCreatePodsPaced creates Pods at a pace that leaves the machine idle for
// most of the time, and reports how long the API server takes for one.
func BenchmarkCreatePodsPaced(b *testing.B) {
	const pace, each = 100, 1000
	all := newWays(b)
	config, err := clientcmd.BuildConfigFromFlags("", bench.Kubeconfig())
	if err != nil {
		b.Fatal(err)
	}
	config.QPS = -1 // the pace is ours
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	ns := lasting(b)
	var took [ways][]float64
	for round := 0; b.Loop(); round++ {
		for i, ms := range compare(b, all, round, func(way) ([]float64, bool) {
			ms := make([]float64, each)
			var given atomic.Bool
			var creating sync.WaitGroup
			for j, began := 0, time.Now(); j < each; j++ {
				due := began.Add(time.Duration(j) * time.Second / pace)
				time.Sleep(time.Until(due))
				creating.Go(func() {
					asked := time.Now()
					pod, err := client.CoreV1().Pods(ns).Create(b.Context(), &corev1.Pod{
						ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"},
						Spec: corev1.PodSpec{
							SchedulerName: "nobody",
							Containers:    []corev1.Container{{Name: "web", Image: "registry/web:1"}},
						},
					}, metav1.CreateOptions{})
					ms[j] = time.Since(asked).Seconds() * 1e3
					switch {
					case err != nil:
						b.Error(err)
					case pod.Annotations[lifeline.ContextKey] != "":
						given.Store(true)
					}
				})
			}
			creating.Wait()
			return ms, given.Load()
		}) {
			took[i] = append(took[i], ms...)
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, ms := range took {
		slices.Sort(ms)
		b.ReportMetric(ms[len(ms)/2], all[i].name+"-p50-ms")
		b.ReportMetric(ms[len(ms)*99/100], all[i].name+"-p99-ms")
	}
}

// How many Pods are created, by how many ReplicaSets.
const pods, sets = 5000, 10

// BenchmarkCreatePods creates Pods as fast as the cluster can, in each iteration
// with and without a webhook. It reports the median ratios of the two.
func BenchmarkCreatePods(b *testing.B) {
	all := newWays(b)
	type cost struct{ took, used time.Duration }
	var wall, cpu [ways][]float64
	var shares []float64
	createPods(b) // the first is slower
	for round := 0; b.Loop(); round++ {
		costs := compare(b, all, round, func(w way) (cost, bool) {
			took, used, given := createPods(b)
			b.Logf(
				"%-20s %6.2f s, %4.2f ms of the API server's processor time a Pod, %d given a context",
				w.name,
				took.Seconds(),
				used.Seconds()*1e3/pods,
				given,
			)
			if given > 0 {
				shares = append(shares, float64(given)/pods)
			}
			return cost{took, used}, given > 0
		})
		for i, c := range costs {
			wall[i] = append(wall[i], c.took.Seconds()/costs[withNone].took.Seconds())
			cpu[i] = append(cpu[i], c.used.Seconds()/costs[withNone].used.Seconds())
		}
	}
	b.ReportMetric(0, "ns/op")
	for _, i := range []int{withOurs, withoutPods, withEmpty} {
		b.ReportMetric(median(wall[i]), all[i].name+"-times-as-long")
		b.ReportMetric(median(cpu[i]), all[i].name+"-times-apiserver-cpu")
	}
	if len(shares) > 0 {
		b.ReportMetric(median(shares), "given-a-context")
	}
}

// lasting returns a namespace that stays as long as the cluster: the removal of
// thousands of Pods takes long, and would disturb the next measurement.
func lasting(b *testing.B) string {
	b.Helper()
	return bench.MustKubectl(
		b,
		"kind: Namespace\napiVersion: v1\nmetadata: {generateName: lasting-}",
		"create",
		"-f",
		"-",
		"-o",
		"jsonpath={.metadata.name}",
	)
}

// createPods creates Pods that are not scheduled. It returns the time until all
// exist, the API server's CPU time, and the number of Pods with a context.
func createPods(b *testing.B) (took, used time.Duration, given int) {
	b.Helper()
	ns := lasting(b)
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
	bench.MustKubectl(
		b,
		"",
		"-n",
		ns,
		"wait",
		"replicasets",
		"--all",
		fmt.Sprintf("--for=jsonpath={.status.replicas}=%d", pods/sets),
		"--timeout=10m",
	)
	took, used = time.Since(start), processorTime(b)-before
	out := bench.MustKubectl(b, "", "-n", ns, "get", "pods", "-o", "jsonpath={.items[*].metadata.annotations}")
	return took, used, strings.Count(out, `"`+lifeline.ContextKey+`"`)
}

// processorTime is what the API server has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	used, err := harness.ProcessorTime(bench.PID(b, lab.APIServer))
	if err != nil {
		b.Fatal(err)
	}
	return used
}
