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

// bounded returns a context with a deadline, so that a failing test ends.
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

// rate returns a configuration with the endpoint r.
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
		handsOn    bool // a child span has the parent's trace ID
		same       bool // and the parent's span context
		sampleRoot bool
	}{
		"off": {
			reason: "no spans, connections or propagation",
			mode:   operator.Off,
		},
		"off with a configuration": {
			reason: "Enabled overrides the configuration", configured: true, rate: ptr.To[int32](all),
			mode: operator.Off,
		},
		"on without configuration": {
			reason: "contexts are passed on unchanged, without connections", enabled: true,
			mode: operator.Propagate, handsOn: true, same: true,
		},
		"rate absent": {
			reason: "spans only below a sampled parent", enabled: true, configured: true,
			mode: operator.Record, names: []string{"sampled"}, dialled: 1, handsOn: true,
		},
		"rate 0": {
			reason: "0 means the same as no rate", enabled: true, configured: true, rate: ptr.To[int32](0),
			mode: operator.Record, names: []string{"sampled"}, dialled: 1, handsOn: true,
		},
		"rate above 0": {
			reason:     "also roots, but the parent's decision stays",
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
			// Without a configuration, the default endpoint must not be contacted.
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
				t.Errorf("%s: mode = %v, want %v", tc.reason, got, tc.mode)
			}
			if got := tr.SampleRoot(trace.TraceID{1}); got != tc.sampleRoot {
				t.Errorf("%s: SampleRoot = %v", tc.reason, got)
			}
			tracer := tr.Tracer("test")
			for name, parent := range map[string]trace.SpanContext{
				"root": {}, "sampled": remote(trace.FlagsSampled), "unsampled": remote(0),
			} {
				ctx, span := tracer.Start(trace.ContextWithSpanContext(t.Context(), parent), name)
				span.End()
				got := trace.SpanContextFromContext(ctx)
				if !got.Equal(span.SpanContext()) {
					t.Errorf("%s: %s: the context has %v, the span %v", tc.reason, name, got, span.SpanContext())
				}
				if !parent.IsValid() {
					if got.IsValid() != (tc.mode == operator.Record) {
						t.Errorf("%s: a root has context %v", tc.reason, got)
					}
					continue
				}
				if handsOn := got.TraceID() == parent.TraceID() &&
					got.IsSampled() == parent.IsSampled(); handsOn != tc.handsOn {
					t.Errorf("%s: %s: got %v for parent %v", tc.reason, name, got, parent)
				}
				if same := got.Equal(parent); same != tc.same {
					t.Errorf("%s: %s: got %v for parent %v", tc.reason, name, got, parent)
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
		t.Errorf("a new root passes on %v", got)
	}
}

func TestResource(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "from-environment")
	cases := map[string]struct {
		reason, service, want string
	}{
		"named":   {reason: "the program's name has priority", service: "head-operator", want: "head-operator"},
		"unnamed": {reason: "without a name, the variable applies", want: "from-environment"},
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
				t.Errorf("%s: resource = %v", tc.reason, got)
			}
		})
	}
}

func TestEndpointVariables(t *testing.T) {
	cases := map[string]struct {
		reason     string
		configured bool
		received   bool // by the configured receiver; otherwise by the variable's
	}{
		"both":     {reason: "the configuration has priority", configured: true, received: true},
		"variable": {reason: "the configuration has no endpoint"},
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
				t.Errorf("%s: got %d spans, and %d connections at the other receiver", tc.reason, spans, elsewhere)
			}
		})
	}
}
