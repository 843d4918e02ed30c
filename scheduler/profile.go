// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// maxIdle limits the twins of a profile that wait for an attempt.
const maxIdle = 64

// profile is the framework of a profile in the scheduler's map. Attempts of sampled Pods run in a
// twin, all others in the original.
type profile struct {
	framework.Framework
	tracer *tracer
	first  *twin // the others are like it

	mu   sync.Mutex
	idle []*twin
}

func newProfile(t *tracer, original framework.Framework) (*profile, error) {
	p := &profile{Framework: original, tracer: t}
	var err error
	if p.first, err = newTwin(original, nil); err != nil {
		return nil, err
	}
	return p, nil
}

// get returns the twin that was idle for the shortest time, as its memory is in the caches, or a new
// one.
func (p *profile) get() *twin {
	p.mu.Lock()
	if last := len(p.idle) - 1; last >= 0 {
		t := p.idle[last]
		p.idle = p.idle[:last]
		p.mu.Unlock()
		return t
	}
	p.mu.Unlock()
	t, err := newTwin(p.Framework, p.first)
	if err != nil {
		return nil // not possible: newProfile made one
	}
	return t
}

// put returns a twin after its attempt.
func (p *profile) put(t *twin) {
	t.reset()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) < maxIdle {
		p.idle = append(p.idle, t)
	}
}

func (p *profile) RunPostFilterPlugins(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes fwk.NodeToStatusReader,
) (result *fwk.PostFilterResult, status *fwk.Status) {
	a := p.tracer.find(pod)
	if a == nil {
		return p.Framework.RunPostFilterPlugins(ctx, state, pod, nodes)
	}
	a.during(pointPostFilter, func() *fwk.Status {
		result, status = a.twin.RunPostFilterPlugins(ctx, state, pod, nodes)
		return status
	})
	if result != nil && result.NominatingInfo != nil {
		a.nominated = result.NominatedNodeName
	}
	return result, status
}

func (p *profile) RunReservePluginsReserve(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string,
) *fwk.Status {
	a := p.tracer.find(pod)
	if a == nil {
		return p.Framework.RunReservePluginsReserve(ctx, state, pod, node)
	}
	return a.during(pointReserve, func() *fwk.Status {
		return a.twin.RunReservePluginsReserve(ctx, state, pod, node)
	})
}

func (p *profile) RunReservePluginsUnreserve(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) {
	a := p.tracer.find(pod)
	if a == nil {
		p.Framework.RunReservePluginsUnreserve(ctx, state, pod, node)
		return
	}
	a.during(pointUnreserve, func() *fwk.Status {
		a.twin.RunReservePluginsUnreserve(ctx, state, pod, node)
		return nil
	})
}

func (p *profile) RunPermitPlugins(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string,
) (waits map[string]time.Duration, status *fwk.Status) {
	a := p.tracer.find(pod)
	if a == nil {
		return p.Framework.RunPermitPlugins(ctx, state, pod, node)
	}
	a.during(pointPermit, func() *fwk.Status {
		waits, status = a.twin.RunPermitPlugins(ctx, state, pod, node)
		return status
	})
	a.cycleEnd = a.now()
	return waits, status
}

func (p *profile) RunPreBindPreFlights(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string,
) *fwk.Status {
	a := p.tracer.find(pod)
	if a == nil {
		return p.Framework.RunPreBindPreFlights(ctx, state, pod, node)
	}
	a.bindingStart = a.now()
	return a.twin.RunPreBindPreFlights(ctx, state, pod, node)
}

func (p *profile) WaitOnPermit(ctx context.Context, pod *corev1.Pod) *fwk.Status {
	a := p.tracer.find(pod)
	if a == nil {
		return p.Framework.WaitOnPermit(ctx, pod)
	}
	if a.bindingStart == 0 {
		a.bindingStart = a.now()
	}
	if !p.WillWaitOnPermit(ctx, pod) {
		return p.Framework.WaitOnPermit(ctx, pod)
	}
	return a.during(pointWaitOnPermit, func() *fwk.Status { return a.twin.WaitOnPermit(ctx, pod) })
}

func (p *profile) RunPreBindPlugins(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string,
) *fwk.Status {
	a := p.tracer.find(pod)
	if a == nil {
		return p.Framework.RunPreBindPlugins(ctx, state, pod, node)
	}
	return a.during(pointPreBind, func() *fwk.Status {
		return a.twin.RunPreBindPlugins(ctx, state, pod, node)
	})
}

func (p *profile) RunBindPlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) *fwk.Status {
	a := p.tracer.find(pod)
	if a == nil {
		return p.Framework.RunBindPlugins(ctx, state, pod, node)
	}
	return a.during(pointBind, func() *fwk.Status {
		return a.twin.RunBindPlugins(ctx, state, pod, node)
	})
}

// RunPostBindPlugins ends the attempt of a bound Pod.
func (p *profile) RunPostBindPlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) {
	a := p.tracer.find(pod)
	if a == nil {
		p.Framework.RunPostBindPlugins(ctx, state, pod, node)
		return
	}
	a.during(pointPostBind, func() *fwk.Status {
		a.twin.RunPostBindPlugins(ctx, state, pod, node)
		return nil
	})
	a.outcome = outcomeBound
	p.tracer.end(a)
}
