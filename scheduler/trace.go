// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/kube-lifeline/lifeline"
)

// scopeName is the instrumentation scope of the spans.
const scopeName = "github.com/kube-lifeline/lifeline/scheduler"

// maxAttempts limits the attempts at one time. Most of them wait for a volume or for a permission.
// Attempts above the limit have no spans.
const maxAttempts = 4096

// maxFinished limits the attempts whose spans are yet to be made.
const maxFinished = 1024

// tracer holds the sampled attempts of a scheduler.
type tracer struct {
	exporter *Exporter
	queue    *queue
	spans    spans // of the goroutine that makes them

	// active is the number of attempts. It spares the others the lock.
	active   atomic.Int64
	mu       sync.Mutex
	attempts map[types.UID]*attempt

	finished chan *attempt
}

// Trace adds spans to a scheduler that does not run yet. Attempts of Pods that the context on the
// Pod or the exporter's sampler leaves out have none. After the scheduler's end, stop makes the
// last spans; it does not shut the exporter down.
//
// Trace returns an error, and changes nothing, if the frameworks or the queue of the scheduler are
// not those of the Kubernetes version that this module requires.
func Trace(sched *scheduler.Scheduler, exporter *Exporter) (stop func(), err error) {
	register()
	t := newTracer(exporter)
	profiles := make(map[string]framework.Framework, len(sched.Profiles))
	for name, original := range sched.Profiles {
		if profiles[name], err = newProfile(t, original); err != nil {
			return nil, err
		}
	}
	gates, hints, err := hooks(sched.SchedulingQueue)
	if err != nil {
		return nil, err
	}
	t.queue.record(gates, hints)
	// The scheduler's event handlers have the map itself, and the plugins the list of extenders.
	for name, traced := range profiles {
		sched.Profiles[name] = traced
	}
	for i, original := range sched.Extenders {
		sched.Extenders[i] = t.extender(i, original)
	}
	sched.SchedulePod = t.schedule(sched.SchedulePod)
	sched.FailureHandler = t.fail(sched.FailureHandler)

	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t.makeSpans(quit)
	}()
	return sync.OnceFunc(func() {
		close(quit)
		<-done
	}), nil
}

func newTracer(exporter *Exporter) *tracer {
	return &tracer{
		exporter: exporter,
		queue:    newQueue(),
		attempts: map[types.UID]*attempt{},
		finished: make(chan *attempt, maxFinished),
	}
}

// schedulePod is the type of a scheduler's SchedulePod.
type schedulePod = func(
	context.Context, framework.Framework, fwk.CycleState, *framework.QueuedPodInfo,
) (scheduler.ScheduleResult, error)

// schedule returns SchedulePod with attempts of sampled Pods.
func (t *tracer) schedule(original schedulePod) schedulePod {
	return func(
		ctx context.Context, f framework.Framework, state fwk.CycleState, info *framework.QueuedPodInfo,
	) (scheduler.ScheduleResult, error) {
		p, ok := f.(*profile)
		if !ok {
			return original(ctx, f, state, info)
		}
		a := t.begin(p, info)
		if a == nil {
			return original(ctx, p.Framework, state, info)
		}
		result, err := original(ctx, algorithm{a.twin, a}, state, info)
		a.scheduled(result, err, state)
		return result, err
	}
}

// begin returns a new attempt, or nil for a Pod that is not sampled.
func (t *tracer) begin(p *profile, info *framework.QueuedPodInfo) *attempt {
	parent := lifeline.Extract(info.Pod)
	if parent.IsValid() && !parent.IsSampled() {
		return nil
	}
	moved, gates := t.queue.take(info.Pod.UID)
	a := &attempt{
		pod: info.Pod, profile: p, trace: parent.TraceID(), parent: parent.SpanID(), started: time.Now(),
		queue: waited(info, moved, gates),
	}
	ctx := context.Background()
	if parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	} else {
		a.trace = newTraceID()
	}
	sampling := t.exporter.sampler.ShouldSample(sdktrace.SamplingParameters{
		ParentContext: ctx, TraceID: a.trace, Name: nameAttempt, Kind: trace.SpanKindInternal,
	})
	if sampling.Decision != sdktrace.RecordAndSample || !t.add(a) {
		return nil
	}
	a.state = sampling.Tracestate
	a.twin = p.get()
	a.twin.attempt = a
	return a
}

// add registers an attempt, and reports whether there is room for it. An earlier attempt of the Pod
// that did not end is forgotten: a group of Pods is tried without an end for each.
func (t *tracer) add(a *attempt) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.attempts) >= maxAttempts {
		dropped.WithLabelValues("attempts").Inc()
		return false
	}
	t.attempts[a.pod.UID] = a
	t.active.Store(int64(len(t.attempts)))
	return true
}

// find returns the attempt of a Pod, or nil.
func (t *tracer) find(pod *corev1.Pod) *attempt { return t.findUID(pod.UID) }

func (t *tracer) findUID(pod types.UID) *attempt {
	if t.active.Load() == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.attempts[pod]
}

// fail returns FailureHandler with the end of attempts.
func (t *tracer) fail(original scheduler.FailureHandlerFn) scheduler.FailureHandlerFn {
	return func(
		ctx context.Context, f framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status,
		nominating *fwk.NominatingInfo, start time.Time,
	) {
		if a := t.find(info.Pod); a != nil {
			a.outcome, a.message = outcomeError, status.Message()
			if status.IsRejected() {
				a.outcome = outcomeUnschedulable
			}
			t.end(a)
		}
		original(ctx, f, info, status, nominating, start)
	}
}

// end removes an attempt and queues it for its spans. Without room it has none.
func (t *tracer) end(a *attempt) {
	a.ended = a.now()
	t.mu.Lock()
	if t.attempts[a.pod.UID] == a {
		delete(t.attempts, a.pod.UID)
	}
	t.active.Store(int64(len(t.attempts)))
	t.mu.Unlock()
	select {
	case t.finished <- a:
	default:
		dropped.WithLabelValues("finished").Inc()
	}
}

// makeSpans makes the spans of finished attempts until quit is closed, and then those that wait.
func (t *tracer) makeSpans(quit <-chan struct{}) {
	for {
		select {
		case a := <-t.finished:
			t.makeSpansOf(a)
		case <-quit:
			for {
				select {
				case a := <-t.finished:
					t.makeSpansOf(a)
				default:
					return
				}
			}
		}
	}
}

func (t *tracer) makeSpansOf(a *attempt) {
	if !t.exporter.add(func(w *wire) int { return t.spans.encode(a, w) }) {
		dropped.WithLabelValues("unsent").Inc()
	}
	a.profile.put(a.twin)
}

// waited returns the wait of a Pod that was just taken from the queue.
func waited(info *framework.QueuedPodInfo, moved move, gates []gate) wait {
	w := wait{
		since: info.Timestamp, number: info.Attempts, flushed: info.WasFlushedFromUnschedulable,
		gates: gates,
	}
	if !moved.at.Before(w.since) {
		w.moved = moved
	}
	for _, g := range gates {
		if g.until.After(w.gated) {
			w.gated = g.until
		}
	}
	if info.BackoffExpiration.After(w.since) {
		w.backoff = info.BackoffExpiration
	}
	w.rejectors = sortedUnion(info.UnschedulablePlugins, info.PendingPlugins)
	return w
}

func sortedUnion(a, b sets.Set[string]) []string {
	if len(a)+len(b) == 0 {
		return nil
	}
	all := a.Union(b).UnsortedList()
	slices.Sort(all)
	return all
}
