// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"github.com/kube-lifeline/lifeline"
)

// told is a span in a table.
type told struct {
	Name       string
	Parent     string // "" for a root, "remote" for the object's context, or a span's name
	Begin, End time.Duration
	Links      map[string]string // reason by the number of the context
	Attrs      map[string]string
	Error      string
	Events     []string
}

// attrs are the attributes of a span of the controller "head".
func attrs(more ...string) map[string]string {
	m := map[string]string{"lifeline.controller": "head"}
	for i := 0; i < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

func TestWork(t *testing.T) {
	long := strings.Repeat("x", maxErrorText-1) + "é"
	key := attribute.String("k8s.object.kind", "Head")
	kind := attrs("k8s.object.kind", "Head", "lifeline.result", "done")
	one := attrs("lifeline.queue.adds", "1")
	notFound := apierrors.NewNotFound(schema.GroupResource{Group: "example.com", Resource: "heads"}, "a")
	cases := map[string]struct {
		reason string
		add    func(q Queue[string])
		work   func(ctx context.Context, w *Work)
		want   []told
	}{
		"NothingToTell": {
			reason: "a reconcile without writes has no span (L3)",
			work: func(ctx context.Context, w *Work) {
				w.SetParent(spanContext(9))
				w.End(ctx, nil)
			},
		},
		"Wrote": {
			reason: "both spans are children of the object's context, side by side",
			work: func(ctx context.Context, w *Work) {
				w.SetParent(spanContext(9))
				w.SetAttributes(key)
				time.Sleep(1 * s)
				w.Start(ctx)
				time.Sleep(1 * s)
				w.End(ctx, nil)
			},
			want: []told{
				{Name: "head reconcile", Parent: "remote", Begin: 3 * s, End: 5 * s, Attrs: kind},
				{Name: "queue wait", Parent: "remote", Begin: 1 * s, End: 3 * s, Attrs: one},
			},
		},
		"Failed": {
			reason: "a failure has a span even without a write",
			work: func(ctx context.Context, w *Work) {
				w.SetParent(spanContext(9))
				time.Sleep(1 * s)
				w.End(ctx, errors.New("no such thing"))
				w.End(ctx, nil)
			},
			want: []told{
				{
					Name:   "head reconcile",
					Parent: "remote",
					Begin:  3 * s,
					End:    4 * s,
					Attrs:  attrs("lifeline.result", "error"),
					Error:  "no such thing",
					Events: []string{"exception 4s error: no such thing"},
				},
				{Name: "queue wait", Parent: "remote", Begin: 1 * s, End: 3 * s, Attrs: one},
			},
		},
		"Refused": {
			reason: "the API's reason is the type of the error",
			work:   func(ctx context.Context, w *Work) { w.End(ctx, fmt.Errorf("no head: %w", notFound)) },
			want: []told{
				{
					Name:   "head reconcile",
					Begin:  3 * s,
					End:    3 * s,
					Attrs:  attrs("lifeline.result", "error"),
					Error:  "no head: " + notFound.Error(),
					Events: []string{"exception 3s NotFound: no head: " + notFound.Error()},
				},
				{Name: "queue wait", Parent: "head reconcile", Begin: 1 * s, End: 3 * s, Attrs: one},
			},
		},
		"WroteAndFailed": {
			reason: "one span for the write and the failure; its text is truncated to valid UTF-8",
			work: func(ctx context.Context, w *Work) {
				w.SetParent(spanContext(9))
				w.Start(ctx)
				w.Start(ctx)
				w.SetAttributes(key)
				w.End(ctx, errors.New(long))
			},
			want: []told{
				{
					Name:   "head reconcile",
					Parent: "remote",
					Begin:  3 * s,
					End:    3 * s,
					Attrs:  attrs("k8s.object.kind", "Head", "lifeline.result", "error"),
					Error:  long[:maxErrorText-1],
					Events: []string{"exception 3s error: " + long[:maxErrorText-1]},
				},
				{Name: "queue wait", Parent: "remote", Begin: 1 * s, End: 3 * s, Attrs: one},
			},
		},
		"Root": {
			reason: "without a parent it is a new trace with one tree",
			work: func(ctx context.Context, w *Work) {
				w.SetParent(trace.SpanContext{})
				w.Start(ctx)
				w.End(ctx, nil)
			},
			want: []told{
				{Name: "head reconcile", Begin: 3 * s, End: 3 * s, Attrs: attrs("lifeline.result", "done")},
				{Name: "queue wait", Parent: "head reconcile", Begin: 1 * s, End: 3 * s, Attrs: one},
			},
		},
		"Triggers": {
			reason: "merged triggers are links, but not the parent (L2); further ones are counted",
			add: func(q Queue[string]) {
				for n := range byte(9) {
					q.From(spanContext(n + 1)).Add("a")
				}
			},
			work: func(ctx context.Context, w *Work) {
				w.SetParent(spanContext(3))
				w.Start(ctx)
				w.SetParent(spanContext(30)) // too late to be the parent
				w.End(ctx, nil)
			},
			want: []told{
				{
					Name:   "head reconcile",
					Parent: "remote",
					Begin:  3 * s,
					End:    3 * s,
					Attrs:  attrs("lifeline.triggers.dropped", "1", "lifeline.result", "done"),
					Links: map[string]string{
						"1":  "trigger",
						"2":  "trigger",
						"4":  "trigger",
						"5":  "trigger",
						"6":  "trigger",
						"7":  "trigger",
						"8":  "trigger",
						"30": "object",
					},
				},
				{
					Name:   "queue wait",
					Parent: "remote",
					Begin:  1 * s,
					End:    3 * s,
					Attrs:  attrs("lifeline.queue.adds", "9"),
				},
			},
		},
		"Unsampled": {
			reason: "the parent decides about sampling",
			work: func(ctx context.Context, w *Work) {
				w.SetParent(spanContext(9).WithTraceFlags(0))
				inner := trace.SpanContextFromContext(w.Start(ctx))
				if inner.TraceID() != spanContext(9).TraceID() || inner.IsSampled() {
					t.Errorf("an unsampled context must be passed on, got %v", inner)
				}
				w.End(ctx, nil)
			},
		},
		"AfterTheEnd": {
			reason: "no span begins after the end",
			work: func(ctx context.Context, w *Work) {
				w.End(ctx, nil)
				if got := w.Start(ctx); got != ctx {
					t.Error("a span began after the end")
				}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				exporter := tracetest.NewInMemoryExporter()
				provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
				q := New(
					&fixed{},
					workqueue.TypedRateLimitingQueueConfig[string]{Name: "head"},
					WithTracerProvider(provider),
				)
				begun := time.Now()
				time.Sleep(1 * s)
				if tc.add == nil {
					q.Add("a")
				} else {
					tc.add(q)
				}
				time.Sleep(2 * s)
				item, _ := q.Get()
				ctx, work := q.Begin(t.Context(), item)
				if WorkFrom(ctx) != work {
					t.Error("the context does not hold the work")
				}
				tc.work(ctx, work)
				q.Done(item)
				q.ShutDown()
				if diff := cmp.Diff(tc.want, read(exporter.GetSpans(), begun)); diff != "" {
					t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// read converts spans to table entries, sorted by name.
func read(spans tracetest.SpanStubs, begun time.Time) []told {
	names := map[trace.SpanID]string{}
	for _, s := range spans {
		names[s.SpanContext.SpanID()] = s.Name
	}
	var all []told
	for _, s := range spans {
		span := told{Name: s.Name, Begin: s.StartTime.Sub(begun), End: s.EndTime.Sub(begun)}
		switch {
		case s.Parent.IsRemote():
			span.Parent = "remote"
		case s.Parent.IsValid():
			span.Parent = names[s.Parent.SpanID()]
		}
		for _, l := range s.Links {
			id := l.SpanContext.SpanID()
			if span.Links == nil {
				span.Links = map[string]string{}
			}
			for _, a := range l.Attributes {
				span.Links[strconv.Itoa(int(id[7]))] += a.Value.AsString()
			}
		}
		for _, a := range s.Attributes {
			if span.Attrs == nil {
				span.Attrs = map[string]string{}
			}
			span.Attrs[string(a.Key)] = a.Value.String()
		}
		for _, e := range s.Events {
			said := map[attribute.Key]string{}
			for _, a := range e.Attributes {
				said[a.Key] = a.Value.AsString()
			}
			span.Events = append(span.Events, fmt.Sprintf("%s %s %s: %s",
				e.Name, e.Time.Sub(begun), said["exception.type"], said["exception.message"]))
		}
		if s.Status.Code == codes.Error {
			span.Error = s.Status.Description
		}
		all = append(all, span)
	}
	slices.SortFunc(all, func(a, b told) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// TestNoWork checks that all methods accept a nil Work.
func TestNoWork(t *testing.T) {
	work := WorkFrom(t.Context())
	work.SetParent(spanContext(1))
	work.SetAttributes(attribute.Bool("a", true))
	if got := work.Start(t.Context()); got != t.Context() {
		t.Error("Start of a nil Work changed the context")
	}
	work.End(t.Context(), errors.New("x"))
}

// TestWorkWithoutTurn checks work on an item that did not come from Get. It starts now, without a
// wait.
func TestWorkWithoutTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exporter := tracetest.NewInMemoryExporter()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
		q := New(nil, workqueue.TypedRateLimitingQueueConfig[string]{}, WithTracerProvider(provider))
		begun := time.Now()
		time.Sleep(1 * s)
		ctx, work := q.Begin(t.Context(), "a")
		work.Start(ctx)
		work.End(ctx, nil)
		q.ShutDown()
		want := []told{{Name: "controller reconcile", Begin: 1 * s, End: 1 * s, Attrs: map[string]string{
			"lifeline.controller": "controller", "lifeline.result": "done",
		}}}
		if diff := cmp.Diff(want, read(exporter.GetSpans(), begun)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// TestWorkHandsOnNoClaim checks that spans do not inherit the object's claim, and that other
// tracestate members stay.
func TestWorkHandsOnNoClaim(t *testing.T) {
	cases := map[string]struct {
		reason string
		begin  func(ctx context.Context, w *Work, parent trace.SpanContext) context.Context
	}{
		"SetParent": {
			reason: "the object's context is the parent",
			begin: func(ctx context.Context, w *Work, parent trace.SpanContext) context.Context {
				w.SetParent(parent)
				return ctx
			},
		},
		"Context": {
			reason: "the caller's context is the parent",
			begin: func(ctx context.Context, _ *Work, parent trace.SpanContext) context.Context {
				return trace.ContextWithRemoteSpanContext(ctx, parent)
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			exporter := tracetest.NewInMemoryExporter()
			provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
			claimed := func(n byte) trace.SpanContext {
				others, err := trace.ParseTraceState("vendor=1")
				if err != nil {
					t.Fatal(err)
				}
				return lifeline.Claimed(spanContext(n).WithTraceState(others), lifeline.Claim{Generation: 1})
			}
			q := New(nil, workqueue.TypedRateLimitingQueueConfig[string]{}, WithTracerProvider(provider))
			q.From(claimed(1)).Add("a")
			item, _ := q.Get()
			ctx, work := q.Begin(t.Context(), item)
			ctx = work.Start(tc.begin(ctx, work, claimed(9)))
			work.SetParent(claimed(2))
			work.End(ctx, nil)
			q.Done(item)
			q.ShutDown()
			contexts := []trace.SpanContext{trace.SpanContextFromContext(ctx)}
			for _, s := range exporter.GetSpans() {
				if s.Parent.SpanID() != claimed(9).SpanID() {
					t.Errorf("%s: %s has parent %v", tc.reason, s.Name, s.Parent)
				}
				contexts = append(contexts, s.SpanContext, s.Parent)
				for _, l := range s.Links {
					contexts = append(contexts, l.SpanContext)
				}
			}
			if len(contexts) != 7 { // two spans, their parents, two links
				t.Errorf("%s: got %d contexts, want 7", tc.reason, len(contexts))
			}
			for _, sc := range contexts {
				if got := sc.TraceState().String(); got != "vendor=1" {
					t.Errorf("%s: %v has tracestate %q", tc.reason, sc, got)
				}
			}
		})
	}
}
