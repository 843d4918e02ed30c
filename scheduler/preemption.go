// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	kubepreemption "k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

const (
	// maxCandidates limits the candidates in a span, and maxVictims the victims.
	maxCandidates = 8
	maxVictims    = 16
)

// preemption is what the plugin DefaultPreemption found in one attempt.
type preemption struct {
	// tried counts the nodes from which the plugin tried to remove Pods.
	tried int
	// candidates are the nodes on which the Pod fits after the removal of the victims. An extender can
	// have removed some. Each has a victim.
	candidates map[string]*extenderv1.Victims
	// custom reports that the plugin has an own order of candidates.
	custom bool
}

// watch returns a copy of the plugin DefaultPreemption that records its candidates. The copy makes
// the same calls of the same objects. Other plugins are returned as they are.
func (c *call) watch(p fwk.PostFilterPlugin) fwk.PostFilterPlugin {
	original, ok := p.(*defaultpreemption.DefaultPreemption)
	if !ok || original.Evaluator == nil {
		return p
	}
	evaluator, copied := *original.Evaluator, *original
	evaluator.Interface = dryRun{evaluator.Interface, c}
	copied.Evaluator = &evaluator
	return &copied
}

// dryRun records the steps of preemption.
type dryRun struct {
	kubepreemption.Interface
	*call
}

// SelectVictimsOnNode runs for several nodes at once.
func (d dryRun) SelectVictimsOnNode(
	ctx context.Context,
	state fwk.CycleState,
	pod *corev1.Pod,
	node fwk.NodeInfo,
	possible []*kubepreemption.DomainVictim,
	budgets []*policyv1.PodDisruptionBudget,
) ([]*corev1.Pod, int, *fwk.Status) {
	victims, violations, status := d.Interface.SelectVictimsOnNode(ctx, state, pod, node, possible, budgets)
	d.mu.Lock()
	defer d.mu.Unlock()
	found := d.found()
	found.tried++
	if status.IsSuccess() && len(victims) > 0 {
		found.candidates[node.Node().Name] = &extenderv1.Victims{Pods: victims, NumPDBViolations: int64(violations)}
	}
	return victims, violations, status
}

// CandidatesToVictimsMap has the candidates before the extenders, and again before the choice.
func (d dryRun) CandidatesToVictimsMap(candidates []kubepreemption.Candidate) map[string]*extenderv1.Victims {
	victims := d.Interface.CandidatesToVictimsMap(candidates)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.found().keep(victims)
	return victims
}

func (d dryRun) OrderedScoreFuncs(
	ctx context.Context, victims map[string]*extenderv1.Victims,
) []func(node string) int64 {
	order := d.Interface.OrderedScoreFuncs(ctx, victims)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.found().custom = len(order) > 0
	return order
}

// keep replaces the candidates. It leaves out nodes without victims.
func (p *preemption) keep(candidates map[string]*extenderv1.Victims) {
	p.candidates = make(map[string]*extenderv1.Victims, len(candidates))
	for node, of := range candidates {
		if of != nil && len(of.Pods) > 0 {
			p.candidates[node] = of
		}
	}
}

// narrow replaces the candidates by those that the last extender left during the plugin's call, from
// first to last. After an error, Kubernetes ignores the extender or chooses no node.
func (p *preemption) narrow(all []*extension, first, last int64) {
	for _, x := range all {
		if x.point == pointPostFilter && x.err == nil && x.start >= first && x.end <= last {
			p.keep(x.left)
		}
	}
}

// found returns the record of the attempt. The caller holds the lock.
func (c *call) found() *preemption {
	if c.preemption == nil {
		c.preemption = &preemption{candidates: map[string]*extenderv1.Victims{}}
	}
	return c.preemption
}

// encode appends the candidates, the victims on the chosen node, and the criterion that decided.
// chosen is "" if there was no preemption.
func (p *preemption) encode(w *wire, chosen string) {
	w.int(keyEvaluated, int64(p.tried))
	w.int(keyCandidates, int64(len(p.candidates)))
	var nodes []string
	var victims, priorities, violations []int64
	for _, node := range p.inOrder(chosen) {
		of := p.candidates[node]
		nodes, victims = append(nodes, node), append(victims, int64(len(of.Pods)))
		priorities = append(priorities, int64(corev1helpers.PodPriority(of.Pods[0])))
		violations = append(violations, of.NumPDBViolations)
	}
	if len(nodes) > 0 {
		w.strings(keyCandidateNodes, nodes)
		w.ints(keyCandidateVictims, victims)
		w.ints(keyCandidatePriorities, priorities)
		w.ints(keyCandidateViolations, violations)
	}
	of := p.candidates[chosen]
	if of == nil {
		return
	}
	w.string(keyNode, chosen)
	w.string(keyDecided, p.decided(chosen))
	w.int(keyVictims, int64(len(of.Pods)))
	var names []string
	priorities = nil
	for _, victim := range of.Pods[:min(maxVictims, len(of.Pods))] {
		names = append(names, victim.Namespace+"/"+victim.Name)
		priorities = append(priorities, int64(corev1helpers.PodPriority(victim)))
	}
	w.strings(keyVictimNames, names)
	w.ints(keyVictimPriorities, priorities)
}

// inOrder returns the best candidates, the chosen one first.
func (p *preemption) inOrder(chosen string) []string {
	nodes := make([]string, 0, len(p.candidates))
	for node := range p.candidates {
		nodes = append(nodes, node)
	}
	slices.SortFunc(nodes, func(a, b string) int {
		if a == chosen || b == chosen {
			return cmp.Compare(b2i(b == chosen), b2i(a == chosen))
		}
		for _, c := range criteria {
			if order := cmp.Compare(c.cost(p.candidates[a]), c.cost(p.candidates[b])); order != 0 {
				return order
			}
		}
		return strings.Compare(a, b)
	})
	return nodes[:min(maxCandidates, len(nodes))]
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// criteria are those of Kubernetes, in its order. The lowest cost wins.
var criteria = []struct {
	name string
	cost func(*extenderv1.Victims) int64
}{
	{"disruption_budgets", func(v *extenderv1.Victims) int64 { return v.NumPDBViolations }},
	{"highest_priority", func(v *extenderv1.Victims) int64 { return int64(corev1helpers.PodPriority(v.Pods[0])) }},
	{"sum_of_priorities", func(v *extenderv1.Victims) int64 {
		sum := int64(0)
		for _, pod := range v.Pods {
			sum += int64(corev1helpers.PodPriority(pod)) + math.MaxInt32 + 1
		}
		return sum
	}},
	{"victims", func(v *extenderv1.Victims) int64 { return int64(len(v.Pods)) }},
	{"start_time", func(v *extenderv1.Victims) int64 {
		start := util.GetEarliestPodStartTime(v)
		if start == nil {
			return math.MaxInt64
		}
		return -start.UnixNano()
	}},
}

// decided returns the criterion by which the last other candidate lost, "only_candidate" or "none".
// It returns "plugin" for an order that is not that of Kubernetes.
func (p *preemption) decided(chosen string) string {
	if p.custom {
		return "plugin"
	}
	others := p.others(chosen)
	if len(others) == 0 {
		return "only_candidate"
	}
	for _, c := range criteria {
		cost := c.cost(p.candidates[chosen])
		better := slices.ContainsFunc(others, func(v *extenderv1.Victims) bool { return c.cost(v) < cost })
		if better {
			return "plugin"
		}
		others = slices.DeleteFunc(others, func(v *extenderv1.Victims) bool { return c.cost(v) > cost })
		if len(others) == 0 {
			return c.name
		}
	}
	return "none"
}

func (p *preemption) others(chosen string) (others []*extenderv1.Victims) {
	for node, of := range p.candidates {
		if node != chosen {
			others = append(others, of)
		}
	}
	return others
}
