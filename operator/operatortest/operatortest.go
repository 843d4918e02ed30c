// SPDX-License-Identifier: Apache-2.0

// Package operatortest records the spans of an operator in the operator's own
// tests, and asserts in a line what they are:
//
//	rec := operatortest.New(t)
//	mgr, err := operator.NewManager(cfg, options, rec.Option())
//	...
//	rec.Wait(t, "head reconcile")
//	rec.OneTrace(t, "head reconcile", "create ChildA")
//
// What spans there should be is left to the test.
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

// patience is how long Wait waits.
const patience = 2 * time.Minute

// Recorder keeps the spans that ended. Its methods may be called from several
// goroutines.
type Recorder struct {
	spans   *recording
	tracing *tracing.Tracing
}

// New returns a recorder that samples everything, until the test ends.
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
			t.Errorf("cannot end tracing: %v", err)
		}
	})
	return r
}

// Option sends a kit's spans to the recorder.
func (r *Recorder) Option() operator.Option { return operator.WithTracerProvider(r.tracing) }

// Tracing is the provider itself, to switch it.
func (r *Recorder) Tracing() *tracing.Tracing { return r.tracing }

// Spans returns the spans that have ended, in the order in which they did.
func (r *Recorder) Spans() []sdktrace.ReadOnlySpan { return r.spans.Ended() }

// Reset forgets the spans.
func (r *Recorder) Reset() { r.spans.Reset() }

// Find returns the spans of a name.
func (r *Recorder) Find(name string) []sdktrace.ReadOnlySpan {
	return slices.DeleteFunc(r.Spans(), func(s sdktrace.ReadOnlySpan) bool { return s.Name() != name })
}

// OneTrace asserts that all spans are of one trace and have IDs of their own, that
// no parent is missing but the one that began outside, and that each of the names
// is there at least once. It returns the trace's ID.
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
		t.Errorf("got several spans of one ID, %s:\n%s", strings.Join(names, ", "), Tree(spans))
	}
	if missing := missing(spans, names); len(missing) > 0 {
		t.Errorf("got no span %s:\n%s", strings.Join(missing, ", "), Tree(spans))
	}
	if above := outside(spans); len(above) > 1 {
		t.Errorf("got %d parents that are not there, want one outside at most:\n%s", len(above), Tree(spans))
	}
	return slices.Collect(maps.Keys(ids))[0]
}

// Wait blocks until a span of each of the names has ended and each trace lacks
// one parent at most: a write's span ends before that of its reconcile. It fails
// the test after two minutes.
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
			t.Fatalf(
				"waited in vain for a span %s, or for its parents:\n%s",
				strings.Join(missing(r.Spans(), names), ", "),
				Tree(r.Spans()),
			)
		}
	}
}

// None asserts that no span has ended.
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

// shared returns the names of spans whose ID an earlier one has.
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

// whole reports whether no trace lacks more than the parent that began outside.
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

// outside returns the parents that are not among the spans.
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

// Tree writes spans as an indented tree, for the message of a failed test.
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
