// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	kubequeue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/kube-lifeline/lifeline"
)

const (
	// maxWaiting limits the Pods in the queue whose gates and moves are known.
	maxWaiting = 1 << 14
	// maxGates limits the gates of one wait.
	maxGates = 8
)

// move is why a Pod left the unschedulable Pods: a plugin's hint about an event. The zero value is
// none.
type move struct {
	at     time.Time
	plugin string
	// event is the label of the event, such as NodeAdd, and object the kind and the name of its object.
	event, object string
}

// gate is the time in which a plugin of PreEnqueue kept a Pod out of the queue.
type gate struct {
	plugin string
	// until is zero before the plugin lets the Pod pass.
	since, until time.Time
	message      string
}

// queue records what plugins decide about Pods in the queue.
type queue struct {
	known atomic.Int64 // the entries of both memories
	mu    sync.Mutex
	moves memory[move]
	gates memory[[]gate]
	last  described
}

// described is an event of the queue and its description. A hint can run for thousands of Pods with the
// same event.
type described struct {
	// own reports that the object is the Pod of the hint.
	own           bool
	before, after any
	registered    fwk.ClusterEvent
	event, object string
}

func newQueue() *queue {
	return &queue{moves: memory[move]{limit: maxWaiting}, gates: memory[[]gate]{limit: maxWaiting}}
}

// hooks returns the plugins of a scheduler's queue: those of PreEnqueue by profile and name, and the
// functions of queueing hints by event. It returns an error if the queue is not that of the
// Kubernetes version that this module requires.
func hooks(of kubequeue.SchedulingQueue) (
	gates map[string]map[string]fwk.PreEnqueuePlugin, hints kubequeue.QueueingHintMapPerProfile, err error,
) {
	v := reflect.ValueOf(of)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, nil, fmt.Errorf("cannot wrap the plugins of the queue: it is a %T, not that of Kubernetes", of)
	}
	gatesField, err := field[map[string]map[string]fwk.PreEnqueuePlugin](v.Elem(), "preEnqueuePluginMap")
	if err != nil {
		return nil, nil, fmt.Errorf("cannot wrap the plugins of the queue: %w", err)
	}
	hintsField, err := field[kubequeue.QueueingHintMapPerProfile](v.Elem(), "queueingHintMap")
	if err != nil {
		return nil, nil, fmt.Errorf("cannot wrap the plugins of the queue: %w", err)
	}
	return *gatesField, *hintsField, nil
}

// record replaces the plugins of a queue that does not run yet.
func (q *queue) record(gates map[string]map[string]fwk.PreEnqueuePlugin, hints kubequeue.QueueingHintMapPerProfile) {
	for _, plugins := range gates {
		for name, p := range plugins {
			plugins[name] = preEnqueue{p, q}
		}
	}
	seen := map[*kubequeue.QueueingHintFunction]bool{}
	for _, profile := range hints {
		for event, functions := range profile {
			for _, f := range functions {
				if !seen[f] {
					seen[f] = true
					f.QueueingHintFn = q.hint(f.PluginName, event, f.QueueingHintFn)
				}
			}
		}
	}
}

// hint returns a function of a queueing hint that records the moves of Pods.
func (q *queue) hint(plugin string, registered fwk.ClusterEvent, original fwk.QueueingHintFn) fwk.QueueingHintFn {
	return func(logger klog.Logger, pod *corev1.Pod, before, after any) (fwk.QueueingHint, error) {
		hint, err := original(logger, pod, before, after)
		if (hint == fwk.Queue || err != nil) && wanted(pod) {
			m := move{at: time.Now(), plugin: plugin}
			q.mu.Lock()
			defer q.mu.Unlock()
			m.event, m.object = q.describe(pod, registered, before, after)
			q.moves.put(pod.UID, m)
			q.known.Store(int64(q.moves.len() + q.gates.len()))
		}
		return hint, err
	}
}

// describe returns the label of an event, and the kind and the name of its object. It keeps the last
// event until an attempt begins. The caller holds the lock.
func (q *queue) describe(pod *corev1.Pod, registered fwk.ClusterEvent, before, after any) (event, object string) {
	changed, _ := after.(*corev1.Pod)
	own := changed != nil && changed.UID == pod.UID
	if !pointer(before) || !pointer(after) {
		return label(own, registered, before, after), named(before, after)
	}
	l := &q.last
	if l.event == "" || l.own != own || l.before != before || l.after != after || l.registered != registered {
		*l = described{own, before, after, registered, label(own, registered, before, after), named(before, after)}
	}
	return q.last.event, q.last.object
}

// pointer reports whether an object of an event is a pointer or nil. Others may not be comparable.
func pointer(object any) bool {
	return object == nil || reflect.TypeOf(object).Kind() == reflect.Pointer
}

// wanted reports whether the attempts of a Pod can have spans.
func wanted(pod *corev1.Pod) bool {
	parent := lifeline.Extract(pod)
	return !parent.IsValid() || parent.IsSampled()
}

// label returns the label of the event that a hint is about. registered is the event for which the
// plugin asked, which can have several actions. own reports that the object is the Pod of the hint.
func label(own bool, registered fwk.ClusterEvent, before, after any) string {
	newPod, _ := after.(*corev1.Pod)
	oldPod, _ := before.(*corev1.Pod)
	newNode, _ := after.(*corev1.Node)
	oldNode, _ := before.(*corev1.Node)
	var events []fwk.ClusterEvent
	switch {
	case oldPod != nil && newPod != nil:
		events = framework.PodSchedulingPropertiesChange(newPod, oldPod, own)
	case newPod != nil && newPod.Spec.NodeName != "":
		return framework.EventAssignedPodAdd.Label()
	case newPod != nil:
		return framework.EventUnscheduledPodAdd.Label()
	case oldPod != nil && oldPod.Spec.NodeName != "":
		return framework.EventAssignedPodDelete.Label()
	case oldPod != nil:
		return framework.EventUnscheduledPodDelete.Label()
	case oldNode != nil && newNode != nil:
		events = framework.NodeSchedulingPropertiesChange(newNode, oldNode)
	case before == nil:
		return fwk.ClusterEvent{Resource: registered.Resource, ActionType: fwk.Add}.Label()
	case after == nil:
		return fwk.ClusterEvent{Resource: registered.Resource, ActionType: fwk.Delete}.Label()
	}
	for _, e := range events {
		if framework.MatchClusterEvents(registered, e) {
			return e.Label()
		}
	}
	return fwk.ClusterEvent{Resource: registered.Resource, ActionType: fwk.Update}.Label()
}

// named returns the kind and the name of an event's object.
func named(before, after any) string {
	object, ok := after.(metav1.Object)
	if !ok {
		if object, ok = before.(metav1.Object); !ok {
			return ""
		}
	}
	name := object.GetName()
	if ns := object.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	kind := reflect.TypeOf(object).String() // informers leave the field kind empty
	return kind[strings.LastIndexByte(kind, '.')+1:] + " " + name
}

// preEnqueue records the gates of Pods.
type preEnqueue struct {
	fwk.PreEnqueuePlugin
	queue *queue
}

func (p preEnqueue) PreEnqueue(ctx context.Context, pod *corev1.Pod) *fwk.Status {
	status := p.PreEnqueuePlugin.PreEnqueue(ctx, pod)
	switch {
	case !status.IsSuccess():
		if wanted(pod) {
			p.queue.close(pod.UID, p.Name(), status.Message())
		}
	case p.queue.known.Load() > 0:
		p.queue.open(pod.UID, p.Name())
	}
	return status
}

// close records that a plugin keeps a Pod out of the queue.
func (q *queue) close(pod types.UID, plugin, message string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	gates, _ := q.gates.get(pod)
	if n := len(gates); n > 0 && gates[n-1].plugin == plugin && gates[n-1].until.IsZero() {
		gates[n-1].message = message
		return
	}
	if len(gates) < maxGates {
		q.gates.put(pod, append(gates, gate{plugin: plugin, since: time.Now(), message: message}))
		q.known.Store(int64(q.moves.len() + q.gates.len()))
	}
}

// open records that a plugin lets a Pod pass.
func (q *queue) open(pod types.UID, plugin string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	gates, _ := q.gates.get(pod)
	for i := range gates {
		if gates[i].plugin == plugin && gates[i].until.IsZero() {
			gates[i].until = time.Now()
		}
	}
}

// take removes and returns the data about a Pod's wait.
func (q *queue) take(pod types.UID) (move, []gate) {
	if q.known.Load() == 0 {
		return move{}, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last = described{} // the objects are large
	m, gates := q.moves.take(pod), q.gates.take(pod)
	q.known.Store(int64(q.moves.len() + q.gates.len()))
	return m, gates
}
