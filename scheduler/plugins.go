// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// The wrappers below record the calls of a plugin. Each has the name, the results and the statuses
// of its plugin.

type preFilter struct {
	fwk.PreFilterPlugin
	*call
}

func (p preFilter) PreFilter(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo,
) (*fwk.PreFilterResult, *fwk.Status) {
	start := p.begin()
	result, status := p.PreFilterPlugin.PreFilter(ctx, state, pod, nodes)
	p.finish(start, status)
	p.kept = -1
	if !result.AllNodes() {
		p.kept = len(result.NodeNames)
	}
	return result, status
}

type filter struct {
	fwk.FilterPlugin
	*call
}

func (p filter) Filter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	start := p.begin()
	status := p.FilterPlugin.Filter(ctx, state, pod, node)
	p.end(start)
	return status // a rejection is recorded once for the node
}

type postFilter struct {
	fwk.PostFilterPlugin
	*call
}

func (p postFilter) PostFilter(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes fwk.NodeToStatusReader,
) (*fwk.PostFilterResult, *fwk.Status) {
	start := p.begin()
	result, status := p.PostFilterPlugin.PostFilter(ctx, state, pod, nodes)
	p.finish(start, status)
	return result, status
}

type preScore struct {
	fwk.PreScorePlugin
	*call
}

func (p preScore) PreScore(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo,
) *fwk.Status {
	start := p.begin()
	status := p.PreScorePlugin.PreScore(ctx, state, pod, nodes)
	p.finish(start, status)
	return status
}

// score is a pointer in a struct, so that the interface of each call has no copy of it.
type score struct{ *scoring }

type scoring struct {
	fwk.ScorePlugin
	*call
}

// Name returns the name without a call of the plugin: the framework asks for it at each node.
func (p score) Name() string { return p.plugin }

func (p score) Score(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo,
) (int64, *fwk.Status) {
	if !p.twin.attempt.timesScore(node) && p.first.Load() > 0 { // a plugin without any time would have no span
		points, status := p.ScorePlugin.Score(ctx, state, pod, node)
		p.result(status)
		return points, status
	}
	start := p.begin()
	points, status := p.ScorePlugin.Score(ctx, state, pod, node)
	p.finish(start, status)
	return points, status
}

// ScoreExtensions records NormalizeScore as part of the plugin's scoring.
func (p score) ScoreExtensions() fwk.ScoreExtensions {
	if p.ScorePlugin.ScoreExtensions() == nil {
		return nil
	}
	return normalize(p)
}

type normalize struct{ *scoring }

func (p normalize) NormalizeScore(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, scores fwk.NodeScoreList,
) *fwk.Status {
	a := p.twin.attempt
	start := a.now()
	status := p.ScorePlugin.ScoreExtensions().NormalizeScore(ctx, state, pod, scores)
	end := a.now()
	p.normalizing = end - start
	p.last.Store(end)
	p.result(status)
	return status
}

type reserve struct {
	fwk.ReservePlugin
	*call
	undo *call
}

func (p reserve) Reserve(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) *fwk.Status {
	start := p.begin()
	status := p.ReservePlugin.Reserve(ctx, state, pod, node)
	p.finish(start, status)
	return status
}

func (p reserve) Unreserve(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) {
	start := p.undo.begin()
	p.ReservePlugin.Unreserve(ctx, state, pod, node)
	p.undo.end(start)
}

type permit struct {
	fwk.PermitPlugin
	*call
}

func (p permit) Permit(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string,
) (*fwk.Status, time.Duration) {
	start := p.begin()
	status, timeout := p.PermitPlugin.Permit(ctx, state, pod, node)
	p.finish(start, status)
	return status, timeout
}

type preBind struct {
	fwk.PreBindPlugin
	*call
}

func (p preBind) PreBind(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) *fwk.Status {
	start := p.begin()
	status := p.PreBindPlugin.PreBind(ctx, state, pod, node)
	p.finish(start, status)
	return status
}

type bind struct {
	fwk.BindPlugin
	*call
}

func (p bind) Bind(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) *fwk.Status {
	start := p.begin()
	status := p.BindPlugin.Bind(ctx, state, pod, node)
	p.finish(start, status)
	return status
}

type postBind struct {
	fwk.PostBindPlugin
	*call
}

func (p postBind) PostBind(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) {
	start := p.begin()
	p.PostBindPlugin.PostBind(ctx, state, pod, node)
	p.end(start)
}
