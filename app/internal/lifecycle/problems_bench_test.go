// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// BenchmarkProblems measures 150,000 Pods with 0 and with 1,000 objects of 20 causes without their desired state: the
// memory, that of the problems alone, a look after a change of 1,000 Pods, and the list.
func BenchmarkProblems(b *testing.B) {
	for _, failing := range []int{0, 1000} {
		b.Run(fmt.Sprint(failing), func(b *testing.B) {
			before := heapSize()
			c := &crowd{engine: New(Options{Cluster: "bench"}), rv: 100, now: epoch}
			var pods []*observation.State
			for i := range 15_000 {
				name := fmt.Sprintf("web-%d", i)
				bad := i < failing
				up := arrived
				if bad {
					up = func(*observation.State) {}
				}
				c.write(name, deployment(10), up)
				c.write(name+"-a", replicaSet(name, 10), up)
				for j := range 10 {
					edit := func(st *observation.State) { ready(st) }
					if bad && j == 0 {
						edit = func(st *observation.State) {
							unpulled(st)
							image := fmt.Sprint("registry/app:", i%20)
							st.Pod.Containers[0].Image = image
						}
					}
					pods = append(pods, c.write(fmt.Sprintf("%s-a-%d", name, j), pod(name+"-a"), bind, edit))
				}
			}
			c.pods = pods[len(pods)-100_000:]
			c.look()
			c.now = c.now.Add(time.Hour)
			c.look()
			c.engine.Problems(c.now)
			used := heapSize() - before
			round := 0
			var list time.Duration
			for b.Loop() {
				b.StopTimer()
				round++
				for i := round % 100; i < len(c.pods); i += 100 {
					st := *c.pods[i]
					c.store(&st)
				}
				b.StartTimer()
				c.look()
				b.StopTimer()
				at := time.Now()
				l := c.engine.Problems(c.now)
				list += time.Since(at)
				if want := min(failing, 20); len(l.Problems) != want {
					b.Fatalf("%d problems, want %d", len(l.Problems), want)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(list.Milliseconds())/float64(b.N), "ms/list")
			b.ReportMetric(float64(used)/(1<<20), "MiB")
			with := heapSize()
			c.engine.problems = nil
			b.ReportMetric(float64(with-min(with, heapSize()))/(1<<20), "MiB-of-problems")
			runtime.KeepAlive(c)
		})
	}
}
