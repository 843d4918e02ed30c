// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	lifeline "github.com/kube-lifeline/lifeline/scheduler"
)

// cluster is a real scheduler on a fake client.
type cluster struct {
	t        testing.TB
	client   *fake.Clientset
	sched    *scheduler.Scheduler
	recorder *recorder
	// stop ends the scheduler and makes its last spans.
	stop func()

	mu    sync.Mutex
	bound map[types.UID]string
	order []string // "pod node" in the order of bindings
	more  chan struct{}
}

type settings struct {
	traced  bool
	options []scheduler.Option
	sampler sdktrace.Sampler
	objects []runtime.Object
	// sink, if set, is the address of a receiver of the spans. Without it, the cluster records them.
	sink string
	// adjust, if set, changes the scheduler before it runs.
	adjust func(*scheduler.Scheduler)
}

// start runs a scheduler over the objects until the test's end.
func start(t testing.TB, s settings) *cluster {
	t.Helper()
	c := &cluster{
		t: t,
		// The other fake one tracks the managers of fields. It takes more time than the scheduler.
		client: fake.NewSimpleClientset(s.objects...),
		bound:  map[types.UID]string{},
		more:   make(chan struct{}, 1),
	}
	c.client.PrependReactor("create", "pods", c.bind)
	ctx, cancel := context.WithCancel(t.Context())
	factory := informers.NewSharedInformerFactory(c.client, 0)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: c.client.EventsV1()})
	sched, err := scheduler.New(ctx, c.client, factory, nil, profile.NewRecorderFactory(broadcaster), s.options...)
	if err != nil {
		t.Fatalf("cannot make a scheduler: %v", err)
	}
	c.sched = sched
	stop := func() {}
	if s.traced {
		var client otlptrace.Client
		if s.sink == "" {
			c.recorder = &recorder{}
			client = c.recorder
			t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
		} else {
			client = otlptracegrpc.NewClient(otlptracegrpc.WithEndpoint(s.sink), otlptracegrpc.WithInsecure())
		}
		exporter, err := lifeline.NewExporter(ctx, client, nil, s.sampler)
		if err != nil {
			t.Fatal(err)
		}
		stopTrace, err := lifeline.Trace(sched, exporter)
		if err != nil {
			t.Fatal(err)
		}
		stop = func() {
			stopTrace()
			if err := exporter.Shutdown(context.WithoutCancel(ctx)); err != nil {
				t.Error(err)
			}
		}
	}
	if s.adjust != nil {
		s.adjust(sched)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := sched.WaitForHandlersSync(ctx); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		sched.Run(ctx)
	}()
	c.stop = sync.OnceFunc(func() {
		cancel()
		<-done
		stop()
		broadcaster.Shutdown()
		factory.Shutdown()
	})
	t.Cleanup(c.stop)
	return c
}

// bind is the API server's answer to a binding.
func (c *cluster) bind(action clienttesting.Action) (bool, runtime.Object, error) {
	create, ok := action.(clienttesting.CreateAction)
	if !ok || action.GetSubresource() != "binding" {
		return false, nil, nil
	}
	binding, ok := create.GetObject().(*corev1.Binding)
	if !ok {
		return false, nil, fmt.Errorf("no binding: %T", create.GetObject())
	}
	gvr := corev1.SchemeGroupVersion.WithResource("pods")
	got, err := c.client.Tracker().Get(gvr, action.GetNamespace(), binding.Name)
	if err != nil {
		return true, nil, err
	}
	pod, ok := got.(*corev1.Pod)
	if !ok {
		return true, nil, fmt.Errorf("no Pod: %T", got)
	}
	pod = pod.DeepCopy()
	pod.Spec.NodeName = binding.Target.Name
	if err := c.client.Tracker().Update(gvr, pod, action.GetNamespace()); err != nil {
		return true, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bound[pod.UID] = binding.Target.Name
	c.order = append(c.order, pod.Name+" "+binding.Target.Name)
	select {
	case c.more <- struct{}{}:
	default:
	}
	return true, nil, nil
}

// waitBound waits until n Pods are bound, and returns their nodes.
func (c *cluster) waitBound(n int) map[types.UID]string {
	c.t.Helper()
	limit := time.After(time.Minute)
	for {
		c.mu.Lock()
		if len(c.bound) >= n {
			out := make(map[types.UID]string, n)
			for k, v := range c.bound {
				out[k] = v
			}
			c.mu.Unlock()
			return out
		}
		c.mu.Unlock()
		select {
		case <-c.more:
		case <-limit:
			c.t.Fatalf("%d of %d Pods are bound", len(c.bound), n)
		}
	}
}

// spans waits for n finished scheduling attempts and returns all spans.
func (c *cluster) spans(n int) []sdktrace.ReadOnlySpan {
	c.t.Helper()
	limit := time.Now().Add(time.Minute)
	for {
		all := c.recorder.Ended()
		attempts := 0
		for _, s := range all {
			if s.Name() == "scheduling attempt" {
				attempts++
			}
		}
		if attempts >= n {
			return all
		}
		if time.Now().After(limit) {
			c.t.Fatalf("%d of %d attempts have spans", attempts, n)
		}
		time.Sleep(time.Millisecond)
	}
}

func node(name, cpu, memory string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
			corev1.ResourcePods: resource.MustParse("110"),
		}},
	}
	n.Status.Capacity = n.Status.Allocatable
	for _, f := range change {
		f(n)
	}
	return n
}

func tainted(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoSchedule}}
}

func pod(name, cpu, memory string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.Now(),
			Labels: map[string]string{"app": strings.TrimRight(name, "0123456789-")},
		},
		Spec: corev1.PodSpec{
			SchedulerName: corev1.DefaultSchedulerName,
			Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
				},
			}}},
		},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

// withContext puts a trace context on a Pod. flags are 00 or 01.
func withContext(flags string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Annotations = map[string]string{
			"tracing.k8s.io/traceparent": "00-0af7651916cd43dd8448eb211c80319c-" + parentSpan + "-" + flags,
		}
	}
}

const parentSpan = "b7ad6b7169203331"
