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

// timed is a call of an extension point, in the original or in the twin of an attempt.
type timed struct {
	framework.Framework
	a     *attempt // nil in the original
	point point
	start int64
}

// at begins a call for a Pod.
func (p *profile) at(pod *corev1.Pod, at point) timed {
	a := p.tracer.find(pod)
	if a == nil {
		return timed{Framework: p.Framework}
	}
	return timed{a.twin, a, at, a.now()}
}

// end ends the call with a status, which it returns.
func (t *timed) end(status *fwk.Status) *fwk.Status {
	if t.a != nil {
		t.a.points[t.point] = interval{t.start, t.a.now(), status}
	}
	return status
}

func (p *profile) RunPostFilterPlugins(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes fwk.NodeToStatusReader,
) (*fwk.PostFilterResult, *fwk.Status) {
	t := p.at(pod, pointPostFilter)
	result, status := t.RunPostFilterPlugins(ctx, state, pod, nodes)
	t.end(status)
	if t.a != nil && result != nil && result.NominatingInfo != nil {
		t.a.nominated = result.NominatedNodeName
	}
	return result, status
}

func (p *profile) RunReservePluginsReserve(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string,
) *fwk.Status {
	t := p.at(pod, pointReserve)
	return t.end(t.RunReservePluginsReserve(ctx, state, pod, node))
}

func (p *profile) RunReservePluginsUnreserve(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) {
	t := p.at(pod, pointUnreserve)
	t.RunReservePluginsUnreserve(ctx, state, pod, node)
	t.end(nil)
}

func (p *profile) RunPermitPlugins(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string,
) (map[string]time.Duration, *fwk.Status) {
	t := p.at(pod, pointPermit)
	waits, status := t.RunPermitPlugins(ctx, state, pod, node)
	t.end(status)
	if t.a != nil {
		t.a.cycleEnd = t.a.now()
	}
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
	if a != nil && a.bindingStart == 0 {
		a.bindingStart = a.now()
	}
	if a == nil || !p.WillWaitOnPermit(ctx, pod) {
		return p.Framework.WaitOnPermit(ctx, pod)
	}
	return a.during(pointWaitOnPermit, func() *fwk.Status { return a.twin.WaitOnPermit(ctx, pod) })
}

func (p *profile) RunPreBindPlugins(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string,
) *fwk.Status {
	t := p.at(pod, pointPreBind)
	return t.end(t.RunPreBindPlugins(ctx, state, pod, node))
}

func (p *profile) RunBindPlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) *fwk.Status {
	t := p.at(pod, pointBind)
	return t.end(t.RunBindPlugins(ctx, state, pod, node))
}

// RunPostBindPlugins ends the attempt of a bound Pod.
func (p *profile) RunPostBindPlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) {
	t := p.at(pod, pointPostBind)
	t.RunPostBindPlugins(ctx, state, pod, node)
	t.end(nil)
	if t.a != nil {
		t.a.outcome = outcomeBound
		p.tracer.end(t.a)
	}
}
