// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"maps"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// extension is one call of an extender in an attempt.
type extension struct {
	point      point
	extender   string
	number     int // of the extender
	start, end int64
	err        error
	// nodes are those that the extender was asked about, or -1.
	nodes      int
	rejections *rejections // nil unless the point is Filter
	// left are the candidates of preemption that the extender left.
	left map[string]*extenderv1.Victims
	// scores are the weighted scores by node.
	scores map[string]int64
}

// extender records the calls of an extender, the scheduler's webhook.
type extender struct {
	fwk.Extender
	tracer *tracer
	host   string
	number int
}

// extender returns the extender with that number.
func (t *tracer) extender(number int, original fwk.Extender) fwk.Extender {
	e := extender{Extender: original, tracer: t, number: number}
	if u, err := url.Parse(original.Name()); err == nil {
		e.host = u.Host // its path and its user may be confidential
	}
	return e
}

// record runs call, and records it if the Pod is sampled. pod is by its UID.
func (e extender) record(pod types.UID, p point, call func(*extension)) {
	a := e.tracer.findUID(pod)
	if a == nil {
		call(nil)
		return
	}
	x := &extension{point: p, extender: e.host, number: e.number, nodes: -1, start: a.now()}
	call(x)
	x.end = a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if p == pointFilter { // the scheduler asks about a nominated node first, and then about all
		a.extended = slices.DeleteFunc(
			a.extended,
			func(o *extension) bool { return o.point == p && o.number == e.number },
		)
	}
	a.extended = append(a.extended, x)
	for node, score := range x.scores {
		if a.bonus == nil {
			a.bonus = map[string]int64{}
		}
		a.bonus[node] += score
	}
}

func (e extender) Filter(pod *corev1.Pod, nodes []fwk.NodeInfo) (
	feasible []fwk.NodeInfo, failed, unresolvable extenderv1.FailedNodesMap, err error,
) {
	e.record(pod.UID, pointFilter, func(x *extension) {
		feasible, failed, unresolvable, err = e.Extender.Filter(pod, nodes)
		if x == nil {
			return
		}
		x.nodes, x.err, x.rejections = len(nodes), err, &rejections{}
		for node, reason := range unresolvable {
			x.rejections.add(node, reason)
		}
		for node, reason := range failed {
			if _, twice := unresolvable[node]; !twice {
				x.rejections.add(node, reason)
			}
		}
	})
	return feasible, failed, unresolvable, err
}

func (e extender) Prioritize(pod *corev1.Pod, nodes []fwk.NodeInfo) (
	priorities *extenderv1.HostPriorityList, weight int64, err error,
) {
	e.record(pod.UID, pointScore, func(x *extension) {
		priorities, weight, err = e.Extender.Prioritize(pod, nodes)
		if x == nil {
			return
		}
		x.nodes, x.err = len(nodes), err
		if err != nil || priorities == nil {
			return
		}
		x.scores = make(map[string]int64, len(*priorities))
		for _, p := range *priorities { // as the scheduler weights them
			x.scores[p.Host] = p.Score * weight * (fwk.MaxScore / extenderv1.MaxExtenderPriority)
		}
	})
	return priorities, weight, err
}

func (e extender) ProcessPreemption(
	pod *corev1.Pod, victims map[string]*extenderv1.Victims, nodes fwk.NodeInfoLister,
) (left map[string]*extenderv1.Victims, err error) {
	e.record(pod.UID, pointPostFilter, func(x *extension) {
		asked := len(victims)
		left, err = e.Extender.ProcessPreemption(pod, victims, nodes)
		if x != nil {
			x.nodes, x.err, x.left = asked, err, maps.Clone(left) // the scheduler changes the map
		}
	})
	return left, err
}

func (e extender) Bind(binding *corev1.Binding) (err error) {
	e.record(binding.UID, pointBind, func(x *extension) {
		err = e.Extender.Bind(binding)
		if x != nil {
			x.err = err
		}
	})
	return err
}
