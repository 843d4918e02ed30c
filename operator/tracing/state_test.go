// SPDX-License-Identifier: Apache-2.0

package tracing_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/tracing"
)

const all = 1_000_000

func start(t *testing.T, options tracing.Options) *tracing.Tracing {
	t.Helper()
	tr, err := tracing.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutdown(t, tr) })
	return tr
}

// bounded is a context that outlives a failing test's patience, no more.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func shutdown(t *testing.T, tr *tracing.Tracing) {
	t.Helper()
	if err := tr.Shutdown(bounded(t)); err != nil {
		t.Error(err)
	}
}

func set(t *testing.T, tr *tracing.Tracing, enabled bool, c *tracingapi.TracingConfiguration) {
	t.Helper()
	if err := tr.Set(bounded(t), enabled, c); err != nil {
		t.Fatal(err)
	}
}

// rate is a configuration that sends to r.
func rate(r *receiver, perMillion int32) *tracingapi.TracingConfiguration {
	return &tracingapi.TracingConfiguration{Endpoint: r.endpoint(), SamplingRatePerMillion: &perMillion}
}

func remote(flags trace.TraceFlags) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: flags, Remote: true,
	})
}

func TestStates(t *testing.T) {
	cases := map[string]struct {
		reason     string
		enabled    bool
		configured bool
		rate       *int32
		mode       operator.Mode
		names      []string
		dialled    int
		handsOn    bool // a span below a parent carries the parent's trace
		same       bool // and the parent's very context
		sampleRoot bool
	}{
		"off": {
			reason: "nothing is generated, dialled or handed on",
			mode:   operator.Off,
		},
		"off with a configuration": {
			reason: "the switch goes before the configuration", configured: true, rate: ptr.To[int32](all),
			mode: operator.Off,
		},
		"on without configuration": {
			reason: "contexts are handed on as they are, and nothing is dialled", enabled: true,
			mode: operator.Propagate, handsOn: true, same: true,
		},
		"rate absent": {
			reason: "spans only below a sampled parent", enabled: true, configured: true,
			mode: operator.Record, names: []string{"sampled"}, dialled: 1, handsOn: true,
		},
		"rate 0": {
			reason: "0 is as absent", enabled: true, configured: true, rate: ptr.To[int32](0),
			mode: operator.Record, names: []string{"sampled"}, dialled: 1, handsOn: true,
		},
		"rate above 0": {
			reason:     "roots too, but never against the parent's decision",
			enabled:    true,
			configured: true,
			rate:       ptr.To[int32](all),
			mode:       operator.Record,
			names:      []string{"root", "sampled"},
			dialled:    1,
			handsOn:    true,
			sampleRoot: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t)
			// Without a configuration, the default endpoint is what must not be dialled.
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+*r.endpoint())
			o := tracing.Options{ServiceName: "head-operator", Enabled: tc.enabled}
			if tc.configured {
				o.Configuration = &tracingapi.TracingConfiguration{
					Endpoint:               r.endpoint(),
					SamplingRatePerMillion: tc.rate,
				}
			}
			tr, err := tracing.New(o)
			if err != nil {
				t.Fatal(err)
			}
			if got := tr.Mode(); got != tc.mode {
				t.Errorf("%s: mode %v, want %v", tc.reason, got, tc.mode)
			}
			if got := tr.SampleRoot(trace.TraceID{1}); got != tc.sampleRoot {
				t.Errorf("%s: SampleRoot is %v", tc.reason, got)
			}
			tracer := tr.Tracer("test")
			for name, parent := range map[string]trace.SpanContext{"root": {}, "sampled": remote(trace.FlagsSampled), "unsampled": remote(0)} {
				ctx, span := tracer.Start(trace.ContextWithSpanContext(t.Context(), parent), name)
				span.End()
				got := trace.SpanContextFromContext(ctx)
				if !got.Equal(span.SpanContext()) {
					t.Errorf("%s: %s: the context carries %v, the span is %v", tc.reason, name, got, span.SpanContext())
				}
				if !parent.IsValid() {
					if got.IsValid() != (tc.mode == operator.Record) {
						t.Errorf("%s: a root has the context %v", tc.reason, got)
					}
					continue
				}
				if handsOn := got.TraceID() == parent.TraceID() &&
					got.IsSampled() == parent.IsSampled(); handsOn != tc.handsOn {
					t.Errorf("%s: %s: %v comes of %v", tc.reason, name, got, parent)
				}
				if same := got.Equal(parent); same != tc.same {
					t.Errorf("%s: %s: %v comes of %v", tc.reason, name, got, parent)
				}
			}
			if err := tr.ForceFlush(bounded(t)); err != nil {
				t.Error(err)
			}
			shutdown(t, tr)
			if diff := cmp.Diff(tc.names, r.names()); diff != "" {
				t.Errorf("%s: spans (-want +got):\n%s", tc.reason, diff)
			}
			if got := r.connections(t); got != tc.dialled {
				t.Errorf("%s: %d connections, want %d", tc.reason, got, tc.dialled)
			}
			if got := tr.Dropped(); got != 0 {
				t.Errorf("%s: %d spans dropped", tc.reason, got)
			}
		})
	}
}

func TestNothingIsDialledBeforeTheFirstSpan(t *testing.T) {
	r := newReceiver(t)
	tr := start(t, tracing.Options{Enabled: true, Configuration: rate(r, 0)})
	for range 100 {
		_, span := tr.Tracer("test").Start(t.Context(), "root")
		span.End()
	}
	shutdown(t, tr)
	if got := r.connections(t); got != 0 {
		t.Errorf("%d connections at rate 0 without a sampled parent", got)
	}
}

func TestPropagatedRootCarriesNoForeignContext(t *testing.T) {
	tr := start(t, tracing.Options{Enabled: true})
	ctx := trace.ContextWithSpanContext(t.Context(), remote(trace.FlagsSampled))
	ctx, _ = tr.Tracer("test").Start(ctx, "healing", trace.WithNewRoot())
	if got := trace.SpanContextFromContext(ctx); got.IsValid() {
		t.Errorf("a new root hands on %v", got)
	}
}

func TestResource(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "from-environment")
	cases := map[string]struct {
		reason, service, want string
	}{
		"named":   {reason: "what the program says goes first", service: "head-operator", want: "head-operator"},
		"unnamed": {reason: "then the variable", want: "from-environment"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t)
			tr := start(t, tracing.Options{
				ServiceName: tc.service, Enabled: true, Configuration: rate(r, all),
				Attributes: []attribute.KeyValue{attribute.String("k8s.namespace.name", "system")},
			})
			_, span := tr.Tracer("test").Start(t.Context(), "root")
			span.End()
			shutdown(t, tr)
			got := map[string]string{}
			for _, a := range r.resource.GetAttributes() {
				got[a.GetKey()] = a.GetValue().GetStringValue()
			}
			if got["service.name"] != tc.want || got["k8s.namespace.name"] != "system" {
				t.Errorf("%s: resource %v", tc.reason, got)
			}
		})
	}
}

func TestEndpointVariables(t *testing.T) {
	cases := map[string]struct {
		reason     string
		configured bool
		received   bool // by the configured receiver, else by the variable's
	}{
		"both":     {reason: "the configuration goes first", configured: true, received: true},
		"variable": {reason: "the configuration leaves room"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			configured, named := newReceiver(t), newReceiver(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+*named.endpoint())
			c := rate(configured, all)
			if !tc.configured {
				c.Endpoint = nil
			}
			tr := start(t, tracing.Options{Enabled: true, Configuration: c})
			_, span := tr.Tracer("test").Start(t.Context(), "root")
			span.End()
			shutdown(t, tr)
			want, idle := named, configured
			if tc.received {
				want, idle = configured, named
			}
			if spans, elsewhere := len(want.names()), idle.connections(t); spans != 1 || elsewhere != 0 {
				t.Errorf("%s: %d spans there, %d connections elsewhere", tc.reason, spans, elsewhere)
			}
		})
	}
}
