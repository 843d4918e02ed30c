// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// fits is a Filter plugin without work.
type fits struct{}

func (fits) Name() string { return "Fits" }

func (fits) Filter(context.Context, fwk.CycleState, *corev1.Pod, fwk.NodeInfo) *fwk.Status {
	return nil
}

// BenchmarkPluginCall measures one call of a Filter plugin: of a Pod that is not sampled, which is
// the original's call, and of a sampled one.
func BenchmarkPluginCall(b *testing.B) {
	node := framework.NewNodeInfo()
	run := func(b *testing.B, p fwk.FilterPlugin) {
		b.Helper()
		b.ReportAllocs()
		for b.Loop() {
			p.Filter(context.Background(), nil, nil, node)
		}
	}
	b.Run("unsampled", func(b *testing.B) { run(b, fits{}) })
	b.Run(
		"sampled",
		func(b *testing.B) { run(b, filter{fits{}, &call{twin: &twin{attempt: &attempt{started: time.Now()}}}}) },
	)
}

// BenchmarkAttempt measures what an attempt costs besides its plugins: beginning, finding it at each
// extension point, its end, and its spans.
func BenchmarkAttempt(b *testing.B) {
	sched, err := newScheduler(b)
	if err != nil {
		b.Fatal(err)
	}
	for name, annotation := range map[string]string{
		"unsampled": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
		"sampled":   "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	} {
		b.Run(name, func(b *testing.B) {
			t := newTracer(newExporter(b))
			p, err := newProfile(t, sched.Profiles["default-scheduler"])
			if err != nil {
				b.Fatal(err)
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "web", UID: "0af76519-16cd-43dd-8448-eb211c80319c",
				Annotations: map[string]string{"tracing.k8s.io/traceparent": annotation},
			}}
			info := &framework.QueuedPodInfo{
				PodInfo:        &framework.PodInfo{Pod: pod},
				QueueingParams: framework.QueueingParams{Timestamp: time.Now(), Attempts: 1},
			}
			b.ReportAllocs()
			for b.Loop() {
				a := t.begin(p, info)
				for range 8 { // the extension points of the profile
					t.find(pod)
				}
				if a == nil {
					continue
				}
				for _, c := range a.twin.calls {
					c.end(c.begin())
					a.nodes.Store(1)
					a.points[c.point] = interval{1, 2, nil}
				}
				a.outcome = outcomeBound
				t.end(a)
				t.makeSpansOf(<-t.finished)
			}
		})
	}
}

// BenchmarkTwin measures the copy of a framework. A profile has one copy for each attempt at a time.
func BenchmarkTwin(b *testing.B) {
	sched, err := newScheduler(b)
	if err != nil {
		b.Fatal(err)
	}
	first, err := newTwin(sched.Profiles["default-scheduler"], nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := newTwin(sched.Profiles["default-scheduler"], first); err != nil {
			b.Fatal(err)
		}
	}
}
