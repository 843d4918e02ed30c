// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/program"
	"github.com/kube-lifeline/lifeline/lab"
)

// cost is what it takes to schedule some Pods: the time until the last of them has a node, and the processor time of
// the scheduler, also in the second after.
type cost struct{ took, processor time.Duration }

// BenchmarkThroughput schedules Pods on 100 nodes of a real API server by the original scheduler, unsampled and
// sampled, in turn: 100 Pods at a time. It prints the Pods a second, and the processor time of the scheduler's process
// for one Pod. The differences from the original have half of their 95 % interval. The three schedulers are running
// processes of the same program, and two of them are stopped. The receiver of the spans is in the process of the
// benchmark: what it does is in the time, and not in the scheduler's processor time.
func BenchmarkThroughput(b *testing.B) {
	const count = 100
	receive(b)
	if err := bench.Kill(lab.Scheduler); err != nil {
		b.Fatal(err)
	}
	kinds := []*contender{
		{name: "original", env: []string{"OTEL_SDK_DISABLED=true"}},
		{name: "unsampled", env: spans(0)},
		{name: "sampled", env: spans(lab.EveryTrace)},
	}
	for _, kind := range kinds {
		kind.start(b)
	}
	client := newClient(b)
	ns := bench.Namespace(b)
	costs := map[string][]cost{}
	round := func(i int) {
		for k := range kinds { // in each order
			if i%2 == 1 {
				k = len(kinds) - 1 - k
			}
			kind := kinds[(i/2+k)%len(kinds)]
			c := schedule(b, client, kinds, kind, ns, count)
			costs[kind.name] = append(costs[kind.name], c)
		}
	}
	round(0) // the first Pods of a process cost more
	clear(costs)
	for i := 1; b.Loop(); i++ {
		round(i)
	}
	b.ReportMetric(0, "ns/op")
	for _, kind := range kinds {
		var took, processor time.Duration
		var times, processors []float64 // logarithms of the ratios to the original
		for i, c := range costs[kind.name] {
			took, processor = took+c.took, processor+c.processor
			base := costs["original"][i]
			times = append(times, math.Log(float64(c.took)/float64(base.took)))
			processors = append(processors, math.Log(float64(c.processor)/float64(base.processor)))
		}
		scheduled := float64(count * len(times))
		b.ReportMetric(scheduled/took.Seconds(), kind.name+"-pods/s")
		b.ReportMetric(processor.Seconds()*1e3/scheduled, kind.name+"-cpu-ms/pod")
		if kind.name == "original" {
			continue
		}
		for unit, logs := range map[string][]float64{"time": times, "cpu": processors} {
			mean, half := meanOf(logs)
			b.ReportMetric(100*math.Expm1(mean), kind.name+"-"+unit+"-%")
			b.ReportMetric(100*math.Exp(mean)*half, kind.name+"-"+unit+"-±%")
		}
	}
}

// contender is a running scheduler for the Pods that name it. It is stopped while another one works.
type contender struct {
	*program.Process
	name string
	env  []string
}

// spans are the variables of a scheduler with spans, which are sent before the end of a measurement.
func spans(perMillion int32) []string {
	return append(
		lab.Tracing{Endpoint: receiver, SamplingRatePerMillion: perMillion}.Env(),
		"OTEL_BSP_SCHEDULE_DELAY=200",
	)
}

// start starts the scheduler until the end of the benchmark. It kills it: a stopped process cannot end by itself.
func (c *contender) start(b *testing.B) {
	b.Helper()
	var err error
	c.Process, err = program.Start(program.Call{
		Path: traced, Env: c.env, Log: filepath.Join(b.TempDir(), "log"),
		Args: []string{"--secure-port=0", "--config=" + harness.File(b, fmt.Sprintf(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: 5000, burst: 5000}
leaderElection: {leaderElect: false}
profiles: [{schedulerName: %s}]
`, bench.Kubeconfig(), c.name))},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = c.Signal(syscall.SIGKILL) // fails if it has ended
		<-c.Ended()
		if b.Failed() {
			b.Logf("the last words of the scheduler %s:\n%s", c.name, c.LastWords())
		}
	})
}

// schedule returns what it costs a scheduler to schedule waiting Pods. The other schedulers are stopped.
func schedule(
	b *testing.B,
	client kubernetes.Interface,
	all []*contender,
	c *contender,
	namespace string,
	count int,
) cost {
	b.Helper()
	for _, one := range all {
		one.signal(b, syscall.SIGSTOP)
	}
	createAll(b, client, namespace, c.name, count)
	binding := watchBound(b, client, namespace) // before the first of them
	begin, before := time.Now(), processorTime(b, c.PID())
	c.signal(b, syscall.SIGCONT)
	awaitBound(b, client, namespace, binding, count)
	took := time.Since(begin)
	time.Sleep(time.Second) // the last spans are sent, and the Pods start
	used := processorTime(b, c.PID()) - before
	if err := client.CoreV1().Pods(namespace).DeleteCollection(
		b.Context(), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, metav1.ListOptions{},
	); err != nil {
		b.Fatal(err)
	}
	for _, one := range all {
		one.signal(b, syscall.SIGCONT)
	}
	harness.Within(b, time.Minute, "the end of the Pods", func() bool {
		time.Sleep(300 * time.Millisecond) // and a moment for the schedulers to know it
		list, err := client.CoreV1().Pods(namespace).List(b.Context(), metav1.ListOptions{})
		if err != nil {
			b.Fatal(err)
		}
		return len(list.Items) == 0
	})
	return cost{took, used}
}

// signal sends a signal to the scheduler's process.
func (c *contender) signal(b *testing.B, s syscall.Signal) {
	b.Helper()
	if err := c.Signal(s); err != nil {
		b.Fatal(err)
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
	config.QPS = -1 // no limit
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	return client
}

// createAll creates Pods for a scheduler, several at once.
func createAll(b *testing.B, client kubernetes.Interface, namespace, scheduler string, count int) {
	b.Helper()
	const workers = 8
	manifests := strings.Split(pods(namespace, count), "---\n")[1:]
	var creating sync.WaitGroup
	for first := range workers {
		creating.Go(func() {
			for i := first; i < len(manifests); i += workers {
				pod := &corev1.Pod{}
				err := yaml.UnmarshalStrict([]byte(manifests[i]), pod)
				if err == nil {
					pod.Spec.SchedulerName = scheduler
					_, err = client.CoreV1().Pods(namespace).Create(b.Context(), pod, metav1.CreateOptions{})
				}
				if err != nil {
					b.Error(err)
				}
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
func awaitBound(b *testing.B, client kubernetes.Interface, namespace string, binding watch.Interface, count int) {
	b.Helper()
	defer func() { binding.Stop() }()
	seen := make(map[string]bool, count)
	limit := time.After(time.Minute)
	for len(seen) < count {
		select {
		case event := <-binding.ResultChan():
			pod, isPod := event.Object.(*corev1.Pod)
			if !isPod {
				binding.Stop()
				binding = watchBound(b, client, namespace)
				continue
			}
			seen[pod.Name] = true
		case <-limit:
			b.Fatalf("%d of %d Pods have a node", len(seen), count)
		}
	}
}

// watchBound returns the events of Pods with a node.
func watchBound(b *testing.B, client kubernetes.Interface, namespace string) watch.Interface {
	b.Helper()
	events, err := client.CoreV1().Pods(namespace).Watch(
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
