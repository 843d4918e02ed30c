// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// cost is that of scheduling some Pods, from the first to the last binding.
type cost struct{ took, processor time.Duration }

// BenchmarkThroughput schedules 2,000 Pods on 100 nodes of a real API server by the same program as the
// original scheduler, unsampled and sampled, in turn. It prints the Pods a second and the processor time
// of the scheduler's process for one Pod, and the differences from the original with half of their 95 %
// interval. The receiver of the spans is in the process of the benchmark.
func BenchmarkThroughput(b *testing.B) {
	const count = 2000
	kinds := []struct {
		name    string
		tracing map[lab.Component]lab.Tracing
	}{
		{"original", nil},
		{"unsampled", lab.Tracing{Endpoint: receiver, SamplingRatePerMillion: 0}.Of(lab.Scheduler)},
		{"sampled", lab.Tracing{Endpoint: receiver, SamplingRatePerMillion: lab.EveryTrace}.Of(lab.Scheduler)},
	}
	receive(b)
	client := newClient(b)
	runs := 0
	schedule := func(tracing map[lab.Component]lab.Tracing) cost {
		runs++
		ns := fmt.Sprintf("throughput-%d", runs)
		bench.MustKubectl(b, "", "create", "namespace", ns)
		bench.AwaitDefaults(b, ns)
		if err := bench.Kill(lab.Scheduler); err != nil {
			b.Fatal(err)
		}
		createAll(b, pods(ns, count))
		binding := watchBound(b, client, ns) // before the first of them
		if err := bench.Reconfigure(b.Context(), func(o *lab.Options) {
			// A new file each time: then the scheduler starts in any case.
			o.ExtraArgs = map[lab.Component][]string{lab.Scheduler: {"--config=" + configuration(b, 16)}}
			o.Scheduler, o.Tracing = traced, tracing
		}); err != nil {
			b.Fatal(err)
		}
		c := awaitBound(b, client, ns, binding, count)
		bench.MustKubectl(b, "", "delete", "namespace", ns, "--timeout=10m")
		return c
	}
	costs := map[string][]cost{}
	for i := 0; b.Loop(); i++ {
		for k := range kinds { // another one is the first each time
			kind := kinds[(i+k)%len(kinds)]
			c := schedule(kind.tracing)
			costs[kind.name] = append(costs[kind.name], c)
			b.Logf("%-10s %6.3f s, %5.2f s of the scheduler's processor time",
				kind.name, c.took.Seconds(), c.processor.Seconds())
		}
	}
	b.ReportMetric(0, "ns/op")
	for _, kind := range kinds {
		var rates, processors, rateRatios, processorRatios []float64
		for i, c := range costs[kind.name] {
			base := costs["original"][i]
			rates = append(rates, count/c.took.Seconds())
			processors = append(processors, c.processor.Seconds()*1e3/count)
			rateRatios = append(rateRatios, 100*(float64(base.took)/float64(c.took)-1))
			processorRatios = append(processorRatios, 100*(float64(c.processor)/float64(base.processor)-1))
		}
		report := func(unit string, values []float64, interval bool) {
			mean, half := meanOf(values)
			b.ReportMetric(mean, kind.name+"-"+unit)
			if interval {
				b.ReportMetric(half, kind.name+"-"+unit+"-±")
			}
		}
		report("pods/s", rates, false)
		report("cpu-ms/pod", processors, false)
		if kind.name != "original" {
			report("pods/s-%", rateRatios, true)
			report("cpu-%", processorRatios, true)
		}
	}
}

// sink is a receiver that discards all spans.
type sink struct {
	ptraceotlp.UnimplementedGRPCServer
}

func (*sink) Export(context.Context, ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	return ptraceotlp.NewExportResponse(), nil
}

// receive discards the scheduler's spans until the benchmark's end.
func receive(b *testing.B) {
	b.Helper()
	listener, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", receiver)
	if err != nil {
		b.Fatal(err)
	}
	server := grpc.NewServer()
	ptraceotlp.RegisterGRPCServer(server, &sink{})
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(listener) })
	b.Cleanup(func() {
		server.Stop()
		served.Wait()
	})
}

func newClient(b *testing.B) kubernetes.Interface {
	b.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", bench.Kubeconfig())
	if err != nil {
		b.Fatal(err)
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	return client
}

// createAll creates the objects of a manifest by several commands at once.
func createAll(b *testing.B, manifest string) {
	b.Helper()
	const commands = 8
	var parts [commands]strings.Builder
	for i, object := range strings.Split(manifest, "---\n")[1:] {
		parts[i%commands].WriteString("---\n" + object)
	}
	var creating sync.WaitGroup
	for i := range parts {
		creating.Go(func() {
			manifest := strings.NewReader(parts[i].String())
			if _, err := bench.RunKubectl(b.Context(), manifest, "create", "-f", "-"); err != nil {
				b.Error(err)
			}
		})
	}
	creating.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// awaitBound waits until count Pods of a namespace have a node. binding are events of such Pods. The API
// server ends a watch that it has to wait for; the next one begins with all such Pods.
func awaitBound(b *testing.B, client kubernetes.Interface, namespace string, binding watch.Interface, count int) cost {
	b.Helper()
	defer func() { binding.Stop() }()
	pid := bench.PID(b, lab.Scheduler)
	var begin time.Time
	var before time.Duration
	seen := make(map[string]bool, count)
	limit := time.After(10 * time.Minute)
	for {
		select {
		case event := <-binding.ResultChan():
			pod, isPod := event.Object.(*corev1.Pod)
			if !isPod {
				binding.Stop()
				binding = watchBound(b, client, namespace)
				continue
			}
			if len(seen) == 0 {
				begin, before = time.Now(), processorTime(b, pid)
			}
			seen[pod.Name] = true
			if len(seen) == count {
				return cost{time.Since(begin), processorTime(b, pid) - before}
			}
		case <-limit:
			b.Fatalf("%d of %d Pods have a node", len(seen), count)
		}
	}
}

// watchBound returns the events of Pods with a node.
func watchBound(b *testing.B, client kubernetes.Interface, namespace string) watch.Interface {
	b.Helper()
	events, err := client.CoreV1().Pods(
		namespace,
	).Watch(
		b.Context(),
		metav1.ListOptions{FieldSelector: "spec.nodeName!="},
	)
	if err != nil {
		b.Fatal(err)
	}
	return events
}

// processorTime returns the processor time of a process so far.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	used, err := harness.ProcessorTime(pid)
	if err != nil {
		b.Fatal(err)
	}
	return used
}

// meanOf returns the mean and half of its 95 % interval, by Student's distribution.
func meanOf(values []float64) (mean, half float64) {
	n := len(values)
	for _, v := range values {
		mean += v / float64(n)
	}
	if n < 2 {
		return mean, math.NaN()
	}
	var squares float64
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	quantiles := []float64{12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26}
	return mean, quantiles[min(n-1, len(quantiles))-1] * math.Sqrt(squares/float64(n-1)/float64(n))
}
