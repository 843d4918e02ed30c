// SPDX-License-Identifier: Apache-2.0

// Package operatortest records the spans of an operator in its tests, and checks them:
//
//	rec := operatortest.New(t)
//	mgr, err := operator.NewManager(cfg, options, rec.Option())
//	...
//	rec.Wait(t, "head reconcile")
//	rec.OneTrace(t, "head reconcile", "create ChildA")
//
// The test decides which spans it expects.
package operatortest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracingapi "k8s.io/component-base/tracing/api/v1"

	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/tracing"
)

// patience is the time limit of Wait.
const patience = 2 * time.Minute

// Recorder stores ended spans. Its methods are safe for concurrent use.
type Recorder struct {
	spans   *recording
	tracing *tracing.Tracing
}

// New returns a Recorder that samples everything. It shuts down at the end of the test.
func New(t testing.TB) *Recorder {
	t.Helper()
	all := int32(1_000_000)
	r := &Recorder{spans: newRecording()}
	tr, err := tracing.New(tracing.Options{
		ServiceName: "operatortest", Enabled: true, SpanProcessor: r.spans,
		Configuration: &tracingapi.TracingConfiguration{SamplingRatePerMillion: &all},
	})
	if err != nil {
		t.Fatalf("cannot set up tracing: %v", err)
	}
	r.tracing = tr
	t.Cleanup(func() {
		if err := tr.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("cannot shut down tracing: %v", err)
		}
	})
	return r
}

// Option returns the option that sends a Kit's spans to the Recorder.
func (r *Recorder) Option() operator.Option { return operator.WithTracerProvider(r.tracing) }

// Tracing returns the tracer provider, for tests that switch it.
func (r *Recorder) Tracing() *tracing.Tracing { return r.tracing }

// Spans returns the ended spans, in the order of their ends.
func (r *Recorder) Spans() []sdktrace.ReadOnlySpan { return r.spans.Ended() }

// Reset removes the stored spans.
func (r *Recorder) Reset() { r.spans.Reset() }

// Find returns the ended spans with a name.
func (r *Recorder) Find(name string) []sdktrace.ReadOnlySpan {
	return slices.DeleteFunc(r.Spans(), func(s sdktrace.ReadOnlySpan) bool { return s.Name() != name })
}

// OneTrace checks that all spans are in one trace and have different IDs. At most one parent may be
// missing, the one outside the operator. Each of the names must occur. It returns the trace ID.
func (r *Recorder) OneTrace(t testing.TB, names ...string) trace.TraceID {
	t.Helper()
	spans := r.Spans()
	ids := map[trace.TraceID]int{}
	for _, s := range spans {
		ids[s.SpanContext().TraceID()]++
	}
	if len(ids) != 1 {
		t.Fatalf("got spans of %d traces, want one:\n%s", len(ids), Tree(spans))
	}
	if names := shared(spans); len(names) > 0 {
		t.Errorf("got several spans with one ID, %s:\n%s", strings.Join(names, ", "), Tree(spans))
	}
	if missing := missing(spans, names); len(missing) > 0 {
		t.Errorf("got no span %s:\n%s", strings.Join(missing, ", "), Tree(spans))
	}
	if above := outside(spans); len(above) > 1 {
		t.Errorf("got %d missing parents, want at most one, outside the operator:\n%s", len(above), Tree(spans))
	}
	return slices.Collect(maps.Keys(ids))[0]
}

// Wait blocks until a span of each name has ended and each trace lacks at most one parent. The
// second condition exists because a write's span ends before that of its reconcile. Wait fails the
// test after two minutes.
func (r *Recorder) Wait(t testing.TB, names ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		ended := r.spans.next()
		spans := r.Spans()
		if len(missing(spans, names)) == 0 && whole(spans) {
			return
		}
		select {
		case <-ended:
		case <-ctx.Done():
			t.Fatalf("timed out waiting for span %s or its parents:\n%s",
				strings.Join(missing(r.Spans(), names), ", "), Tree(r.Spans()))
		}
	}
}

// None checks that no span has ended.
func (r *Recorder) None(t testing.TB) {
	t.Helper()
	if spans := r.Spans(); len(spans) > 0 {
		t.Errorf("got %d spans, want none:\n%s", len(spans), Tree(spans))
	}
}

func missing(spans []sdktrace.ReadOnlySpan, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(spans, func(s sdktrace.ReadOnlySpan) bool { return s.Name() == name })
	})
}

// shared returns the names of spans with the ID of an earlier span.
func shared(spans []sdktrace.ReadOnlySpan) []string {
	var names []string
	seen := map[trace.SpanID]bool{}
	for _, s := range spans {
		id := s.SpanContext().SpanID()
		if seen[id] {
			names = append(names, s.Name())
		}
		seen[id] = true
	}
	return names
}

// whole reports whether each trace lacks at most one parent.
func whole(spans []sdktrace.ReadOnlySpan) bool {
	traces := map[trace.TraceID][]sdktrace.ReadOnlySpan{}
	for _, s := range spans {
		id := s.SpanContext().TraceID()
		traces[id] = append(traces[id], s)
	}
	for _, of := range traces {
		if len(outside(of)) > 1 {
			return false
		}
	}
	return true
}

// outside returns the parents that are missing from the spans.
func outside(spans []sdktrace.ReadOnlySpan) map[trace.SpanID]bool {
	have := map[trace.SpanID]bool{}
	for _, s := range spans {
		have[s.SpanContext().SpanID()] = true
	}
	above := map[trace.SpanID]bool{}
	for _, s := range spans {
		if p := s.Parent(); p.IsValid() && !have[p.SpanID()] {
			above[p.SpanID()] = true
		}
	}
	return above
}

// Tree formats spans as an indented tree, for test failures.
func Tree(spans []sdktrace.ReadOnlySpan) string {
	if len(spans) == 0 {
		return "(no spans)"
	}
	below := map[trace.SpanID][]sdktrace.ReadOnlySpan{}
	have := map[trace.SpanID]bool{}
	for _, s := range spans {
		have[s.SpanContext().SpanID()] = true
	}
	for _, s := range spans {
		parent := s.Parent().SpanID()
		if !have[parent] {
			parent = trace.SpanID{}
		}
		below[parent] = append(below[parent], s)
	}
	var b strings.Builder
	var write func(parent trace.SpanID, depth int)
	write = func(parent trace.SpanID, depth int) {
		for _, s := range below[parent] {
			fmt.Fprintf(&b, "%s%s  trace %s span %s parent %s\n", strings.Repeat("  ", depth), s.Name(),
				s.SpanContext().TraceID(), s.SpanContext().SpanID(), s.Parent().SpanID())
			write(s.SpanContext().SpanID(), depth+1)
		}
	}
	write(trace.SpanID{}, 0)
	return b.String()
}
