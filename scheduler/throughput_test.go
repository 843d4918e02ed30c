// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	corev1 "k8s.io/api/core/v1"
)

// BenchmarkThroughput schedules 1,000 Pods on 100 nodes by the original, unsampled and sampled, in
// turn. It prints the mean duration of SchedulePod, and relative to the original, with half of the
// 95 % interval: the duration of SchedulePod (cycle), the time until all Pods are bound (all), and the
// processor time of the process (cpu).
//
// The processor time includes the fake API server, the informers, and the spans until they are in the
// connection. The receiver is another process on the same processors. It reads the requests and does
// not decode them: a receiver's own work depends on the receiver, and is not that of the scheduler.
func BenchmarkThroughput(b *testing.B) {
	const nodes, pods = 100, 1000
	kinds := []string{"original", "unsampled", "sampled"}
	address := startSink(b)
	run := func(kind string) (whole, cycle, cpu float64) {
		objects := mixed(nodes, pods)
		for _, o := range objects {
			if p, ok := o.(*corev1.Pod); ok {
				withContext(map[string]string{"original": "00", "unsampled": "00", "sampled": "01"}[kind])(p)
			}
		}
		var spent, first atomic.Int64
		before := processor(b)
		c := start(b, settings{
			traced: kind != "original", sink: address, objects: objects,
			adjust: func(s *scheduler.Scheduler) {
				inner := s.SchedulePod
				s.SchedulePod = func(
					ctx context.Context, f framework.Framework, state fwk.CycleState, info *framework.QueuedPodInfo,
				) (scheduler.ScheduleResult, error) {
					begin := time.Now()
					first.CompareAndSwap(0, begin.UnixNano())
					defer func() { spent.Add(int64(time.Since(begin))) }()
					return inner(ctx, f, state, info)
				}
			},
		})
		c.waitBound(pods)
		whole = float64(time.Now().UnixNano() - first.Load())
		c.stop()
		return whole, float64(spent.Load()) / pods, processor(b) - before
	}
	wholes, cycles, cpus := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	run("sampled") // warm
	for i := 0; b.Loop(); i++ {
		for k := range kinds { // another one is the first each time
			kind := kinds[(i+k)%len(kinds)]
			runtime.GC()
			whole, cycle, cpu := run(kind)
			wholes[kind], cycles[kind] = append(wholes[kind], whole), append(cycles[kind], cycle)
			cpus[kind] = append(cpus[kind], cpu)
		}
	}
	for _, kind := range kinds {
		mean, _ := meanOf(cycles[kind])
		b.ReportMetric(mean, kind+"-ns/cycle")
		if kind == "original" {
			continue
		}
		for name, of := range map[string]map[string][]float64{"cycle": cycles, "all": wholes, "cpu": cpus} {
			ratios := make([]float64, len(of[kind]))
			for i := range ratios {
				// The mean of ratios themselves would be too large by the square of the noise.
				ratios[i] = math.Log(of[kind][i] / of["original"][i])
			}
			mean, half := meanOf(ratios)
			b.ReportMetric(100*math.Expm1(mean), kind+"-"+name+"-%")
			b.ReportMetric(100*math.Exp(mean)*half, kind+"-"+name+"-±%")
		}
	}
}

// processor returns the processor time of the process.
func processor(tb testing.TB) float64 {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return float64(usage.Utime.Nano() + usage.Stime.Nano())
}

// meanOf returns the mean and half of its 95 % interval, which one value does not have.
func meanOf(values []float64) (mean, half float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	var squares float64
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	n := float64(len(values))
	return mean, 1.96 * math.Sqrt(squares/(n-1)/n)
}
