// SPDX-License-Identifier: Apache-2.0

package lifeline_test

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/kube-lifeline/lifeline"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// In an operator, obj is the Kubernetes object: every metav1.Object implements lifeline.Object.
var obj = &lifeline.Annotations{lifeline.ContextKey: parent}

// With tracing set up, this is otel.Tracer("example.com/web-controller").
var tracer = noop.NewTracerProvider().Tracer("")

func Example() {
	// The writer of an object puts the context of the write on it …
	ctx := lifeline.Context(context.Background(), obj)
	child := &lifeline.Annotations{"app": "web"}
	lifeline.Inject(ctx, child)

	// … and the object's controller begins a span below.
	ctx, span := lifeline.Start(context.Background(), tracer, child, "web reconcile")
	defer span.End()
	fmt.Println(trace.SpanContextFromContext(ctx).TraceID())
	// Output: 4bf92f3577b34da6a3ce929d0e0e4736
}

func ExampleExtract() {
	sc := lifeline.Extract(obj)
	fmt.Println(sc.TraceID(), sc.SpanID(), sc.IsSampled())

	none := lifeline.Extract(&lifeline.Annotations{lifeline.ContextKey: "nonsense"})
	fmt.Println(none.IsValid())
	// Output:
	// 4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7 true
	// false
}

func ExampleFind() {
	taskRun := &lifeline.Annotations{"tekton.dev/taskrunSpanContext": `{"traceparent":"` + parent + `"}`}
	sc, convention := lifeline.Find(taskRun)
	fmt.Println(sc.SpanID(), "by", convention)
	// Output: 00f067aa0ba902b7 by tekton-taskrun
}

func ExampleContext() {
	obj := &lifeline.Annotations{lifeline.ContextKey: parent, lifeline.BaggageKey: "tenant=blue"}
	ctx := lifeline.Context(context.Background(), obj)
	fmt.Println(trace.SpanContextFromContext(ctx).TraceID(), baggage.FromContext(ctx))
	// Output: 4bf92f3577b34da6a3ce929d0e0e4736 tenant=blue
}

func ExampleInject() {
	ctx := lifeline.Context(context.Background(), obj)
	deployment := &lifeline.Annotations{"team": "blue"}
	lifeline.Inject(ctx, deployment)
	fmt.Println(*deployment)

	pod := &lifeline.Annotations{}
	lifeline.Inject(ctx, pod, lifeline.KEP5915)
	fmt.Println(*pod)
	// Output:
	// map[team:blue trace.kubernetes.io/context:00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01]
	// map[tracing.k8s.io/traceparent:00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01]
}

func ExampleRemove() {
	obj := &lifeline.Annotations{lifeline.ContextKey: parent, "uber-trace-id": "1:1:0:1", "team": "blue"}
	lifeline.Remove(obj, lifeline.Jaeger)
	fmt.Println(*obj)
	lifeline.Remove(obj)
	fmt.Println(*obj)
	// Output:
	// map[team:blue trace.kubernetes.io/context:00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01]
	// map[team:blue]
}

func ExampleStart() {
	ctx, span := lifeline.Start(context.Background(), tracer, obj, "web reconcile")
	defer span.End()
	fmt.Println(trace.SpanContextFromContext(ctx).TraceID())
	// Output: 4bf92f3577b34da6a3ce929d0e0e4736
}

func ExampleStartLinked() {
	// With tracing set up, ctx holds the root of a new trace, linked to obj's.
	ctx, span := lifeline.StartLinked(context.Background(), tracer, obj, "web reconcile")
	defer span.End()
	fmt.Println(trace.SpanContextFromContext(ctx).IsValid())
	// Output: true
}

func ExampleLink() {
	if link, ok := lifeline.Link(obj); ok {
		_, span := tracer.Start(context.Background(), "nightly check", trace.WithLinks(link))
		defer span.End()
		fmt.Println(link.SpanContext.TraceID())
	}
	// Output: 4bf92f3577b34da6a3ce929d0e0e4736
}

func ExampleConvention() {
	sc := lifeline.Extract(obj)
	fmt.Println(lifeline.Jaeger.Encode(sc, baggage.Baggage{}))
	fmt.Println(lifeline.Jaeger.Owns("uber-trace-id"), lifeline.Jaeger.Owns("team"))
	// Output:
	// map[uber-trace-id:4bf92f3577b34da6a3ce929d0e0e4736:00f067aa0ba902b7:0:1]
	// true false
}

func ExampleConventions() {
	for _, c := range lifeline.Conventions() {
		fmt.Println(c)
	}
	// Output:
	// default
	// kep-5915
	// azure-operatortrace
	// tekton-taskrun
	// tekton-pipelinerun
	// agent-sandbox
	// w3c
	// jaeger
}

func ExampleDerive() {
	child := lifeline.Child{
		Identity: lifeline.Identity{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "web"},
		Digest:   lifeline.DigestOf([]byte(`{"spec":{"replicas":3}}`)),
	}
	first := lifeline.Derive(lifeline.Extract(obj), child)
	again := lifeline.Derive(lifeline.Extract(obj), child)
	fmt.Println(first.TraceID(), first.Equal(again))

	child.Digest = lifeline.DigestOf([]byte(`{"spec":{"replicas":4}}`))
	other := lifeline.Derive(lifeline.Extract(obj), child)
	fmt.Println(other.TraceID(), first.Equal(other))
	// Output:
	// 4bf92f3577b34da6a3ce929d0e0e4736 true
	// 4bf92f3577b34da6a3ce929d0e0e4736 false
}

func ExampleClaimOf() {
	web := lifeline.Identity{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "web"}
	change := lifeline.Claimed(lifeline.Extract(obj), lifeline.Claim{Time: time.Unix(1767225600, 0)})
	sc := lifeline.Derive(change, lifeline.Child{Identity: web, Generation: 1})

	claim, ok := lifeline.ClaimOf(sc)
	fmt.Println(ok, claim.Names(web), claim.Parent, claim.Generation, claim.Time.UTC())

	// Another writer replaced the context and left the tracestate: the claim is invalid.
	_, ok = lifeline.ClaimOf(sc.WithSpanID(trace.SpanID{1}))
	fmt.Println(ok)
	// Output:
	// true true 00f067aa0ba902b7 1 2026-01-01 00:00:00 +0000 UTC
	// false
}
