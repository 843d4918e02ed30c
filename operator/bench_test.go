// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	tracingapi "k8s.io/component-base/tracing/api/v1"

	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/tracing"
)

// idle is a client that accepts all writes at once, so only the kit is measured.
type idle struct{ client.Client }

func (idle) Scheme() *runtime.Scheme { return clientgoscheme.Scheme }

func (idle) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, clientgoscheme.Scheme)
}

func (idle) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	obj.SetUID("uid-child")
	obj.SetResourceVersion("7")
	return nil
}

// provider samples everything or nothing, and drops the spans.
func provider(b testing.TB, perMillion int32) *tracing.Tracing {
	b.Helper()
	tr, err := tracing.New(tracing.Options{
		ServiceName: "bench", Enabled: true, SpanProcessor: forgetful{},
		Configuration: &tracingapi.TracingConfiguration{SamplingRatePerMillion: &perMillion},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = tr.Shutdown(context.Background()) })
	return tr
}

// BenchmarkReconcile measures the kit's overhead per reconcile: subtract bare. In steady, the
// reconcile does nothing. In fails, only the reconcile itself has a span. In create, a ConfigMap
// also gets a context, is written and is stored in memory.
func BenchmarkReconcile(b *testing.B) {
	steady := func(context.Context, client.Client) error { return nil }
	creating := func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, &corev1.ConfigMap{ObjectMeta: child().ObjectMeta, Data: map[string]string{"a": "1"}})
	}
	failing := func(context.Context, client.Client) error { return errTest }
	for _, work := range []struct {
		name string
		do   func(context.Context, client.Client) error
	}{{"steady", steady}, {"fails", failing}, {"create", creating}} {
		for _, how := range []struct {
			name  string
			rate  int32
			flags trace.TraceFlags
		}{{"unsampled", 0, 0}, {"sampled", 1_000_000, trace.FlagsSampled}} {
			kit := operator.New(operator.WithTracerProvider(provider(b, how.rate)))
			parents := toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)
			kit.HaveInformer(parentKind, parents)
			if err := parents.Add(parent(unready, carrying(claimed(1).WithTraceFlags(how.flags)))); err != nil {
				b.Fatal(err)
			}
			traced := kit.Client(idle{})
			inner := reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
				return reconcile.Result{}, work.do(ctx, traced)
			})
			measure(b, work.name+"/"+how.name, kit.Reconciler("head", parentKind, inner, nil))
		}
		measure(
			b,
			work.name+"/bare",
			reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
				return reconcile.Result{}, work.do(ctx, idle{})
			}),
		)
	}
}

func measure(b *testing.B, name string, r reconcile.Reconciler) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		ctx := log.IntoContext(context.Background(), funcr.New(func(string, string) {}, funcr.Options{}))
		b.ReportAllocs()
		spent := processorTime(b)
		for b.Loop() {
			if _, err := r.Reconcile(ctx, request); err != nil && !errors.Is(err, errTest) {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(processorTime(b)-spent)/float64(b.N), "cpu-ns/op")
	})
}

func BenchmarkPredicate(b *testing.B) {
	p := operator.Predicate()
	before := parent(ready, carrying(given(1)))
	before.ResourceVersion = "1"
	for name, after := range map[string]client.Object{
		"status": parent(unready, carrying(given(1))), "context": parent(ready, carrying(given(2))),
	} {
		after.SetResourceVersion("2")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})
			}
		})
	}
}

// forgetful is a span processor that does nothing.
type forgetful struct{}

func (forgetful) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (forgetful) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (forgetful) Shutdown(context.Context) error                  { return nil }
func (forgetful) ForceFlush(context.Context) error                { return nil }

// processorTime returns the CPU time of this process, which is independent of other load.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
