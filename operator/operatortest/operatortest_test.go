// SPDX-License-Identifier: Apache-2.0

package operatortest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/internal/planned"
	"github.com/kube-lifeline/lifeline/operator/operatortest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// verdict is a testing.TB that records failures.
type verdict struct {
	testing.TB
	ctx  context.Context
	said []string
}

func (v *verdict) Helper() {}

func (v *verdict) Context() context.Context { return v.ctx }

func (v *verdict) Errorf(format string, args ...any) {
	v.said = append(v.said, fmt.Sprintf(format, args...))
}

// fatal is the panic value of Fatalf.
type fatal struct{}

func (v *verdict) Fatalf(format string, args ...any) {
	v.Errorf(format, args...)
	panic(fatal{})
}

// judge runs an assertion and returns its failures.
func judge(t *testing.T, assert func(*verdict)) (said string) {
	t.Helper()
	v := &verdict{TB: t, ctx: t.Context()}
	defer func() {
		if p := recover(); p != nil && p != (fatal{}) {
			panic(p)
		}
		said = strings.Join(v.said, "\n")
	}()
	assert(v)
	return ""
}

// spans makes spans, each a child of the one before. "" begins another trace, and ".." goes up one
// level.
func spans(from context.Context, t *testing.T, rec *operatortest.Recorder, names ...string) {
	t.Helper()
	stack := []context.Context{from}
	for _, name := range names {
		switch name {
		case "":
			stack = []context.Context{t.Context()}
		case "..":
			stack = stack[:len(stack)-1]
		default:
			ctx, span := rec.Tracing().Tracer("test").Start(stack[len(stack)-1], name)
			span.End()
			stack = append(stack, ctx)
		}
	}
}

func TestAssertions(t *testing.T) {
	outside := func(n byte) context.Context {
		return trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{n}, TraceFlags: trace.FlagsSampled,
		}))
	}
	cases := map[string]struct {
		reason string
		make   func(*testing.T, *operatortest.Recorder)
		assert func(*verdict, *operatortest.Recorder)
		want   string // part of the failure; "" for none
	}{
		"one tree": {
			reason: "a correct trace",
			make:   func(t *testing.T, r *operatortest.Recorder) { spans(t.Context(), t, r, "a", "b", "..", "c") },
			assert: func(t *verdict, r *operatortest.Recorder) { r.OneTrace(t, "a", "c") },
		},
		"below an outside parent": {
			reason: "an operator's parent span is outside",
			make: func(t *testing.T, r *operatortest.Recorder) {
				spans(outside(1), t, r, "a")
				spans(outside(1), t, r, "b")
			},
			assert: func(t *verdict, r *operatortest.Recorder) { r.OneTrace(t, "a", "b") },
		},
		"below two": {
			reason: "one parent is missing",
			make: func(t *testing.T, r *operatortest.Recorder) {
				spans(outside(1), t, r, "a")
				spans(outside(2), t, r, "b")
			},
			assert: func(t *verdict, r *operatortest.Recorder) { r.OneTrace(t) },
			want:   "got 2 missing parents",
		},
		"two of one ID": {
			reason: "span IDs must be unique",
			make: func(t *testing.T, r *operatortest.Recorder) {
				for _, name := range []string{"a", "b"} {
					spans(
						planned.With(
							outside(1),
							planned.Span{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{5}, Sampled: true},
						),
						t,
						r,
						name,
					)
				}
			},
			assert: func(t *verdict, r *operatortest.Recorder) { r.OneTrace(t) },
			want:   "got several spans with one ID, b",
		},
		"two traces": {
			reason: "the message shows them",
			make:   func(t *testing.T, r *operatortest.Recorder) { spans(t.Context(), t, r, "a", "", "b") },
			assert: func(t *verdict, r *operatortest.Recorder) { r.OneTrace(t) }, want: "got spans of 2 traces",
		},
		"none": {
			reason: "there is no trace", make: func(*testing.T, *operatortest.Recorder) {},
			assert: func(t *verdict, r *operatortest.Recorder) { r.OneTrace(t) }, want: "(no spans)",
		},
		"one missing": {
			reason: "the message names it",
			make:   func(t *testing.T, r *operatortest.Recorder) { spans(t.Context(), t, r, "a") },
			assert: func(t *verdict, r *operatortest.Recorder) { r.OneTrace(t, "a", "z") }, want: "got no span z",
		},
		"none wanted": {
			reason: "no spans, as expected", make: func(*testing.T, *operatortest.Recorder) {},
			assert: func(t *verdict, r *operatortest.Recorder) { r.None(t) },
		},
		"none wanted, one there": {
			reason: "the message shows it",
			make:   func(t *testing.T, r *operatortest.Recorder) { spans(t.Context(), t, r, "a") },
			assert: func(t *verdict, r *operatortest.Recorder) { r.None(t) }, want: "got 1 spans, want none:\na  trace",
		},
		"forgotten": {
			reason: "a test may have several parts",
			make: func(t *testing.T, r *operatortest.Recorder) {
				spans(t.Context(), t, r, "a")
				r.Reset()
			},
			assert: func(t *verdict, r *operatortest.Recorder) { r.None(t) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec := operatortest.New(t)
			tc.make(t, rec)
			said := judge(t, func(v *verdict) { tc.assert(v, rec) })
			if tc.want == "" && said != "" || !strings.Contains(said, tc.want) {
				t.Errorf("%s: failure = %q, want %q", tc.reason, said, tc.want)
			}
		})
	}
}

func TestWait(t *testing.T) {
	rec := operatortest.New(t)
	spans(t.Context(), t, rec, "a")
	done := make(chan struct{})
	go func() {
		defer close(done)
		spans(context.Background(), t, rec, "b", "c")
	}()
	rec.Wait(t, "a", "c")
	<-done
	if got := len(rec.Find("c")); got != 1 {
		t.Errorf("found %d spans named c, want 1", got)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := &verdict{TB: t, ctx: ctx}
	func() {
		defer func() { _ = recover() }()
		rec.Wait(v, "a", "never")
	}()
	if len(v.said) != 1 || !strings.HasPrefix(v.said[0], "timed out waiting for span never or its parents:") {
		t.Errorf("failures = %q", v.said)
	}
}

func TestTree(t *testing.T) {
	rec := operatortest.New(t)
	spans(t.Context(), t, rec, "a", "b", "c", "..", "..", "d")
	var shape []string
	for line := range strings.Lines(operatortest.Tree(rec.Spans())) {
		name, _, _ := strings.Cut(line, "  trace")
		shape = append(shape, name)
	}
	if got := strings.Join(shape, "|"); got != "a|  b|    c|  d" {
		t.Errorf("tree = %s", got)
	}
}

func TestOption(t *testing.T) {
	rec := operatortest.New(t)
	if kit := operator.New(rec.Option()); kit == nil || rec.Tracing().Mode() != operator.Record ||
		!rec.Tracing().SampleRoot(trace.TraceID{1}) {
		t.Error("a kit with a Recorder does not sample everything")
	}
}
