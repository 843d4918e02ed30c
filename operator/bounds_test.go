// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"runtime"
	"strconv"
	"testing"

	"go.opentelemetry.io/otel/trace"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline/operator"
)

const manyKeys = 100_000

// many runs a kit with very many objects. Each object requests a reconcile that never runs, is
// healed, and has a child written.
func many(t testing.TB, kit *operator.Kit, keys int) {
	t.Helper()
	parents := toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)
	kit.HaveInformer(parentKind, parents)
	traced := kit.Client(idle{})
	r := kit.Reconciler(
		"head",
		parentKind,
		reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			obj := child()
			obj.Name = req.Name
			return reconcile.Result{}, traced.Create(ctx, obj)
		}),
		nil,
	)
	for i := range keys {
		req := request
		req.Name = "head-" + strconv.Itoa(i)
		obj := parent(ready, carrying(claimed(1)), func(p *policyv1.PodDisruptionBudget) {
			p.Name, p.UID = req.Name, types.UID(req.Name)
		})
		if err := parents.Add(obj); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Reconcile(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		kit.Trigger("head", req, obj)
		if err := parents.Delete(obj); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	kit := operator.New(operator.WithTracerProvider(provider(t, 0)))
	keys := max(operator.MaxTriggered, operator.Remembered) + 1000
	many(t, kit, keys)
	triggers, writes, episodes := kit.Counts()
	if triggers != operator.MaxTriggered || writes != operator.Remembered || episodes != operator.Remembered {
		t.Errorf("after %d keys: %d triggers, %d writes, %d episodes; want %d, %d, %d", keys,
			triggers, writes, episodes, operator.MaxTriggered, operator.Remembered, operator.Remembered)
	}
	// Only the latest objects are in memory.
	last := types.UID("head-" + strconv.Itoa(keys-1))
	if kit.Episode("head-0") || !kit.Episode(last) {
		t.Errorf("episode open: first = %v, want false; last = %v, want true", kit.Episode("head-0"), kit.Episode(last))
	}
}

// BenchmarkMemory measures the kit's memory after 100,000 keys. Each key was written and healed,
// and waits for a reconcile.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		kit := operator.New(operator.WithTracerProvider(provider(b, 0)))
		many(b, kit, manyKeys)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
		runtime.KeepAlive(kit)
	}
}

// TestAllocations limits the allocations of a reconcile that does nothing, as most do.
func TestAllocations(t *testing.T) {
	for name, sc := range map[string]trace.SpanContext{
		"unsampled": claimed(1).WithTraceFlags(0), "sampled": claimed(1),
	} {
		kit := operator.New(operator.WithTracerProvider(provider(t, 1_000_000)))
		parents := toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)
		kit.HaveInformer(parentKind, parents)
		if err := parents.Add(parent(ready, carrying(sc))); err != nil {
			t.Fatal(err)
		}
		r := kit.Reconciler(
			"head",
			parentKind,
			reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
				return reconcile.Result{}, nil
			}),
			nil,
		)
		if n := testing.AllocsPerRun(1000, func() {
			if _, err := r.Reconcile(context.Background(), request); err != nil {
				t.Fatal(err)
			}
		}); n > maxSteadyAllocations {
			t.Errorf("%s: %v allocations, want at most %d", name, n, maxSteadyAllocations)
		}
	}
}

// maxSteadyAllocations covers the work, its context value, and the object lookup.
const maxSteadyAllocations = 4

var _ client.Client = idle{}
