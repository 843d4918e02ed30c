// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

func queueAlways(klog.Logger, *corev1.Pod, any, any) (fwk.QueueingHint, error) { return fwk.Queue, nil }

// TestMoves: the last event is described once, and another one is not mistaken for it.
func TestMoves(t *testing.T) {
	node := func(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	a, b := node("a"), node("b")
	labeled := func(uid types.UID, label string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid, Name: "web", Labels: map[string]string{"a": label}}}
	}
	own, other := labeled("uid", "new"), labeled("other", "new")
	q := newQueue()
	update := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.Update}
	hint := q.hint("P", update, queueAlways)
	pods := q.hint("P", fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Update}, queueAlways)
	claims := q.hint("P", fwk.ClusterEvent{Resource: "claims", ActionType: fwk.Delete}, queueAlways)
	for _, test := range []struct {
		reason        string
		hint          fwk.QueueingHintFn
		before, after any
		event, object string
	}{
		{"the first event", hint, nil, a, "NodeAdd", "Node a"},
		{"the same again", hint, nil, a, "NodeAdd", "Node a"},
		{"another object", hint, nil, b, "NodeAdd", "Node b"},
		{"an update", hint, a, b, "NodeUpdate", "Node b"},
		{"the Pod itself", pods, labeled("uid", "old"), own, "TargetPodUpdatePodLabel", "Pod web"},
		{"another Pod", pods, labeled("other", "old"), other, "UnscheduledPodUpdatePodLabel", "Pod web"},
		{"another event of these objects", claims, b, nil, "claimsDelete", "Node b"},
		{"an object that cannot be compared", claims, map[string]int{}, nil, "claimsDelete", ""},
		{"the same again", claims, map[string]int{}, nil, "claimsDelete", ""},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID("uid")}}
		if _, err := test.hint(klog.Background(), pod, test.before, test.after); err != nil {
			t.Fatal(err)
		}
		if test.object != "" && q.last.event != test.event {
			t.Errorf("%s: the last event is %q", test.reason, q.last.event)
		}
		if m := q.moves.take(pod.UID); m.event != test.event || m.object != test.object {
			t.Errorf("%s: %s, %s, want %s, %s", test.reason, m.event, m.object, test.event, test.object)
		}
	}
	q.take("uid")
	if q.last.after != nil || q.last.before != nil {
		t.Errorf("the last event is kept beyond the next attempt: %v", q.last)
	}
}

// BenchmarkMoves measures one event of a node for each waiting Pod.
func BenchmarkMoves(b *testing.B) {
	before := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	after := before.DeepCopy()
	hint := newQueue().hint("P", fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Update}, queueAlways)
	for name, annotation := range map[string]string{"unsampled": "00", "sampled": "01"} {
		b.Run(name, func(b *testing.B) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "uid", Annotations: map[string]string{
				"tracing.k8s.io/traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-" + annotation,
			}}}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = hint(klog.Background(), pod, before, after)
			}
		})
	}
}
