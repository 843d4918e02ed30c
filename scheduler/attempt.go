// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// attempt is the record of one scheduling attempt of a sampled Pod. Its spans are made at its end,
// outside of the scheduling cycle. One goroutine at a time writes to it: the scheduling cycle, then
// the binding cycle. Calls of plugins have their own locks.
type attempt struct {
	pod     *corev1.Pod
	profile *profile
	twin    *twin
	// trace, parent and state are those of the span of the attempt.
	trace  trace.TraceID
	parent trace.SpanID // invalid without a context on the Pod
	state  trace.TraceState

	queue   wait
	started time.Time
	// points are the extension points that ran.
	points [points]interval
	// filtering is the start of Filter, or 0 before; nodes counts its nodes.
	filtering, nodes atomic.Int64
	// first is the name of the first node in Filter.
	first atomic.Pointer[string]

	// cycleEnd and bindingStart are 0 if there was no binding cycle.
	cycleEnd, bindingStart, ended int64

	result   scheduler.ScheduleResult
	allNodes int
	choice   choice
	// unfiltered are the plugins of Filter that PreFilter left out.
	unfiltered sets.Set[string]
	// scored is the number of nodes in Score. The calls for the nodes in timed have a time; without any, all
	// calls have.
	scored    int
	timed     [timedScores]*framework.NodeInfo
	nominated string
	outcome   string
	message   string
	rejectors []string

	mu       sync.Mutex
	extended []*extension
	// bonus are the weighted scores of extenders by node.
	bonus map[string]int64
}

// interval is a period in nanoseconds since the attempt's start. end is 0 if the point did not run.
type interval struct {
	start, end int64
	status     *fwk.Status
}

// wait is the wait in the scheduling queue before the attempt.
type wait struct {
	since time.Time
	// number is that of the attempt, from 1.
	number int
	// gated is the end of the time behind a gate. backoff is the end of the back-off. Either may be
	// zero.
	gated, backoff time.Time
	gates          []gate
	moved          move
	// flushed reports that the Pod was tried again because of the time alone.
	flushed bool
	// rejectors are the plugins that rejected the Pod before, or gated it.
	rejectors []string
}

// choice is the outcome of scoring.
type choice struct {
	winner, second fwk.NodePluginScores
	// equal counts the other nodes with the winner's total score.
	equal int
	nodes int
}

// now returns the time since the attempt's start, and at least 1: 0 means never.
func (a *attempt) now() int64 { return max(1, int64(time.Since(a.started))) }

// at returns the time of an offset, in nanoseconds since 1970.
func (a *attempt) at(offset int64) int64 { return a.started.UnixNano() + offset }

// during records an extension point around run.
func (a *attempt) during(p point, run func() *fwk.Status) *fwk.Status {
	start := a.now()
	status := run()
	a.points[p] = interval{start, a.now(), status}
	return status
}

// algorithm is the framework for SchedulePod: the twin, with the times of its extension points.
type algorithm struct {
	*twin
	a *attempt
}

func (f algorithm) RunPreFilterPlugins(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod,
) (result *fwk.PreFilterResult, status *fwk.Status, rejectors sets.Set[string]) {
	f.a.during(pointPreFilter, func() *fwk.Status {
		result, status, rejectors = f.twin.RunPreFilterPlugins(ctx, state, pod)
		return status
	})
	return result, status, rejectors
}

func (f algorithm) RunFilterPluginsWithNominatedPods(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo,
) *fwk.Status {
	name := node.Node().Name
	// The scheduler filters a nominated node first, and once more with all nodes if it was rejected.
	if first := f.a.first.Load(); first != nil && *first == name {
		return f.a.profile.Framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
	}
	n := f.a.nodes.Add(1)
	if n == 1 {
		first := name // one allocation an attempt, not one a node
		f.a.first.Store(&first)
		f.a.filtering.Store(f.a.now())
	}
	through := f.a.profile.Framework // its plugins have no times
	if n <= alwaysTimed || n%timedShare == 0 {
		through = f.twin
	}
	status := through.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
	if !status.IsSuccess() {
		f.twin.reject(name, status)
	}
	return status
}

func (f algorithm) RunPreScorePlugins(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo,
) *fwk.Status {
	return f.a.during(pointPreScore, func() *fwk.Status {
		return f.twin.RunPreScorePlugins(ctx, state, pod, nodes)
	})
}

func (f algorithm) RunScorePlugins(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo,
) (scores []fwk.NodePluginScores, status *fwk.Status) {
	f.a.chooseTimed(nodes)
	f.a.during(pointScore, func() *fwk.Status {
		scores, status = f.twin.RunScorePlugins(ctx, state, pod, nodes)
		return status
	})
	// The scheduler sorts its list in place.
	f.twin.scores = append(f.twin.scores[:0], scores...)
	return scores, status
}

// chooseTimed chooses the nodes of Score that have times: evenly spread, from a random one.
func (a *attempt) chooseTimed(nodes []fwk.NodeInfo) {
	a.scored, a.timed = len(nodes), [timedScores]*framework.NodeInfo{}
	if len(nodes) <= 2*timedScores {
		return
	}
	step := len(nodes) / timedScores
	first := rand.IntN(step) //nolint:gosec // no secret
	for i := range a.timed {
		a.timed[i], _ = nodes[first+i*step].(*framework.NodeInfo) // as in the scheduler's snapshot
	}
}

// timesScore reports whether the calls of Score for a node have times.
func (a *attempt) timesScore(node fwk.NodeInfo) bool {
	if a.timed[0] == nil {
		return true
	}
	info, _ := node.(*framework.NodeInfo) // pointers are compared faster than interfaces
	for _, timed := range a.timed {
		if timed == info {
			return true
		}
	}
	return false
}

// scheduled records the result of SchedulePod.
func (a *attempt) scheduled(result scheduler.ScheduleResult, err error, state fwk.CycleState) {
	a.result = result
	a.unfiltered = state.GetSkipFilterPlugins()
	if fit, ok := err.(*framework.FitError); ok { //nolint:errorlint // the scheduler compares it like this
		a.allNodes = fit.NumAllNodes
		for plugin := range fit.Diagnosis.UnschedulablePlugins {
			a.rejectors = append(a.rejectors, plugin)
		}
	}
	if start := a.filtering.Load(); start > 0 {
		end := a.points[pointPreScore].start // what follows, if several nodes fit
		if end == 0 {
			end = a.now()
		}
		a.points[pointFilter] = interval{start: start, end: end}
	}
	if err == nil {
		a.choice = choose(a.twin.scores, a.bonus, result.SuggestedHost)
	}
}

// choose returns the scores of the winner, and of the best other node. bonus are the scores of
// extenders.
func choose(scores []fwk.NodePluginScores, bonus map[string]int64, winner string) choice {
	c := choice{nodes: len(scores)}
	for i := range scores {
		scores[i].TotalScore += bonus[scores[i].Name]
		if scores[i].Name == winner {
			c.winner = scores[i]
		}
	}
	for i := range scores {
		s := &scores[i]
		if s.Name == winner {
			continue
		}
		if s.TotalScore == c.winner.TotalScore {
			c.equal++
		}
		if c.second.Name == "" || s.TotalScore > c.second.TotalScore {
			c.second = *s
		}
	}
	return c
}
