// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// crowd is a cluster of Deployments whose Pods are coming up.
type crowd struct {
	engine *Engine
	pods   []*observation.State
	rv     uint64
	now    time.Time
}

func newCrowd(deployments, pods int) *crowd {
	c := &crowd{engine: New(Options{Cluster: "bench"}), rv: 100, now: epoch}
	for i := range deployments {
		name := fmt.Sprintf("web-%d", i)
		c.write(name, deployment(int32(pods)))
		c.write(name+"-a", replicaSet(name, int32(pods)))
		for j := range pods {
			pod := c.write(fmt.Sprintf("%s-a-%d", name, j), pod(name+"-a"), bind)
			c.pods = append(c.pods, pod)
		}
	}
	return c
}

func (c *crowd) write(name string, edits ...func(*observation.State)) *observation.State {
	st := &observation.State{Created: c.now.Truncate(time.Second), Generation: 1, Desired: 1, Reconciled: true}
	st.Name, st.UID, st.Namespace = name, types.UID("uid-"+name), "default"
	for _, edit := range edits {
		edit(st)
	}
	c.store(st)
	return st
}

func (c *crowd) store(st *observation.State) {
	c.rv++
	st.ResourceVersion = c.rv
	c.now = c.now.Add(time.Millisecond)
	c.engine.Observe(&observation.Observation{Source: observation.SourceWatch, Seen: c.now, State: st})
}

// step gives every nth Pod a new status, others in each round.
func (c *crowd) step(n, round int) {
	for i := round % n; i < len(c.pods); i += n {
		st := *c.pods[i]
		p := *st.Pod
		p.Containers = []observation.Container{{
			Name: "app", Image: "registry/app:1",
			State: &observation.ContainerState{Waiting: true, Reason: fmt.Sprintf("Step%d", round)},
		}}
		st.Pod = &p
		c.store(&st)
		c.pods[i] = &st
	}
}

// look does the periodic work of a server, twice a second.
func (c *crowd) look() int {
	c.now = c.now.Add(500 * time.Millisecond)
	c.engine.Take(c.now)
	c.engine.Amendments()
	return len(c.engine.Traces(c.now))
}

// BenchmarkLook looks at open Pods after changes of 1% of them.
func BenchmarkLook(b *testing.B) {
	for _, size := range []struct{ deployments, pods int }{{1000, 10}, {1, 5000}} {
		b.Run(fmt.Sprintf("%dx%d", size.deployments, size.pods), func(b *testing.B) {
			c := newCrowd(size.deployments, size.pods)
			if n := c.look(); n != size.deployments {
				b.Fatalf("%d traces, want %d", n, size.deployments)
			}
			b.ReportAllocs()
			round := 0
			for b.Loop() {
				b.StopTimer()
				round++
				c.step(len(c.pods)/100, round)
				b.StartTimer()
				c.look()
			}
		})
	}
}

// BenchmarkSlice is an update of an EndpointSlice of 100 Pods that replaces one of them. No trace is open.
func BenchmarkSlice(b *testing.B) {
	s := newStory()
	s.write("svc", service)
	s.write("svc-a", slice("svc"))
	s.before()
	e := observe(s.seen)
	var pods []string
	for i := range 200 {
		pods = append(pods, fmt.Sprint("pod-", i))
	}
	var updates []*observation.State
	for i := range 100 {
		updates = append(updates, s.write("svc-a", slice("svc", pods[i:i+100]...)))
	}
	rv, at := s.rv, s.now()
	b.ReportAllocs()
	for b.Loop() {
		rv++
		st := *updates[rv%100]
		st.ResourceVersion = rv
		at = at.Add(time.Second)
		e.Observe(&observation.Observation{Source: observation.SourceWatch, Seen: at, State: &st})
		if rv%1000 == 0 {
			e.Take(at)
		}
	}
	if n := len(e.endpoints.byKey); n > 10_000 {
		b.Errorf("%d endpoints", n)
	}
}
