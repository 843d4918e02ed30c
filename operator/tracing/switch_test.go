// SPDX-License-Identifier: Apache-2.0

package tracing_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/tracing"
)

func TestOnOffOnAgain(t *testing.T) {
	r := newReceiver(t)
	tr := start(t, tracing.Options{})
	tracer := tr.Tracer("test") // created while tracing is off
	span := func(name string) {
		_, s := tracer.Start(t.Context(), name)
		s.End()
	}
	span("off at first")
	set(t, tr, true, rate(r, all))
	span("on")
	set(t, tr, false, nil)
	if diff := cmp.Diff([]string{"on"}, r.names()); diff != "" {
		t.Errorf("spans after switching off (-want +got):\n%s", diff)
	}
	span("off")
	set(t, tr, true, rate(r, all))
	span("on again")
	set(t, tr, true, nil)
	span("propagated only")
	shutdown(t, tr)
	if diff := cmp.Diff([]string{"on", "on again"}, r.names()); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if got := tr.Dropped(); got != 0 {
		t.Errorf("%d spans dropped", got)
	}
}

func TestAnotherEndpoint(t *testing.T) {
	a, b := newReceiver(t), newReceiver(t)
	tr := start(t, tracing.Options{Enabled: true, Configuration: rate(a, all)})
	tracer := tr.Tracer("test")
	_, across := tracer.Start(t.Context(), "across")
	_, s := tracer.Start(t.Context(), "first")
	s.End()
	set(t, tr, true, rate(b, all))
	if diff := cmp.Diff([]string{"first"}, a.names()); diff != "" {
		t.Errorf("spans at the former endpoint (-want +got):\n%s", diff)
	}
	across.End()
	shutdown(t, tr)
	if diff := cmp.Diff([]string{"across"}, b.names()); diff != "" {
		t.Errorf("spans that end after the switch (-want +got):\n%s", diff)
	}
}

func TestAnotherRateKeepsTheConnection(t *testing.T) {
	r := newReceiver(t)
	tr := start(t, tracing.Options{Enabled: true, Configuration: rate(r, all)})
	for _, perMillion := range []int32{0, all, all / 2, all} {
		set(t, tr, true, rate(r, perMillion))
		_, s := tr.Tracer("test").Start(t.Context(), "root")
		s.End()
		if err := tr.ForceFlush(bounded(t)); err != nil {
			t.Fatal(err)
		}
	}
	shutdown(t, tr)
	if got := r.connections(t); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
}

func TestRefusedConfigurationLeavesTheOld(t *testing.T) {
	cases := map[string]struct {
		reason  string
		enabled bool
		c       *tracingapi.TracingConfiguration
		field   string
	}{
		"rate": {
			reason:  "above a million",
			enabled: true,
			c:       &tracingapi.TracingConfiguration{SamplingRatePerMillion: ptr.To[int32](all + 1)},
			field:   "samplingRatePerMillion",
		},
		"endpoint": {
			reason:  "not a gRPC target",
			enabled: true,
			c:       &tracingapi.TracingConfiguration{Endpoint: ptr.To("http://x:4318")},
			field:   "endpoint",
		},
		"off and wrong": {
			reason: "an invalid configuration is an error even if off",
			c:      &tracingapi.TracingConfiguration{Endpoint: ptr.To("")},
			field:  "endpoint",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := tracing.New(tracing.Options{Enabled: tc.enabled, Configuration: tc.c}); err == nil {
				t.Errorf("%s: New accepted it", tc.reason)
			}
			r := newReceiver(t)
			tr := start(t, tracing.Options{Enabled: true, Configuration: rate(r, all)})
			err := tr.Set(t.Context(), tc.enabled, tc.c)
			if err == nil || !strings.Contains(err.Error(), ": "+tc.field+": ") {
				t.Errorf("%s: error %v does not name the field %s", tc.reason, err, tc.field)
			}
			if got := tr.Mode(); got != operator.Record {
				t.Errorf("%s: mode = %v", tc.reason, got)
			}
			_, s := tr.Tracer("test").Start(t.Context(), "root")
			s.End()
			shutdown(t, tr)
			if got := len(r.names()); got != 1 {
				t.Errorf("%s: %d spans arrived, want 1", tc.reason, got)
			}
		})
	}
}

func TestAfterShutdown(t *testing.T) {
	tr := start(t, tracing.Options{Enabled: true})
	shutdown(t, tr)
	shutdown(t, tr)
	if got := tr.Mode(); got != operator.Off {
		t.Errorf("mode = %v", got)
	}
	if err := tr.Set(t.Context(), true, nil); err == nil {
		t.Error("Set succeeded after Shutdown")
	}
}

// lasting is an exporter that counts shutdowns.
type lasting struct {
	*tracetest.InMemoryExporter
	ended atomic.Int64
}

func (l *lasting) Shutdown(context.Context) error {
	l.ended.Add(1)
	return nil
}

func TestUsersExporterOutlivesSwitches(t *testing.T) {
	l := &lasting{InMemoryExporter: tracetest.NewInMemoryExporter()}
	c := &tracingapi.TracingConfiguration{SamplingRatePerMillion: ptr.To[int32](all)}
	tr := start(t, tracing.Options{Enabled: true, Configuration: c, Exporter: l})
	for i := range 3 {
		_, s := tr.Tracer("test").Start(t.Context(), "root")
		s.End()
		set(t, tr, false, nil)
		if got := len(l.GetSpans()); got != i+1 {
			t.Errorf("got %d spans after switch %d", got, i+1)
		}
		set(t, tr, true, c)
	}
	set(t, tr, false, nil)
	if got := l.ended.Load(); got != 0 {
		t.Error("switching off shut down the user's exporter")
	}
	shutdown(t, tr)
	if got := l.ended.Load(); got != 1 {
		t.Errorf("the exporter was shut down %d times, want 1", got)
	}
}

func TestUsersExporterEndsEvenIfItWasNeverUsed(t *testing.T) {
	l := &lasting{InMemoryExporter: tracetest.NewInMemoryExporter()}
	shutdown(t, start(t, tracing.Options{Exporter: l}))
	if got := l.ended.Load(); got != 1 {
		t.Errorf("the exporter was shut down %d times, want 1", got)
	}
}

func TestExporterAndProcessorExcludeEachOther(t *testing.T) {
	_, err := tracing.New(
		tracing.Options{Exporter: tracetest.NewInMemoryExporter(), SpanProcessor: tracetest.NewSpanRecorder()},
	)
	if err == nil {
		t.Error("New accepted both an Exporter and a SpanProcessor")
	}
}

// TestSwitchingUnderLoadLosesNothingUncounted switches tracing through all states while many
// goroutines make spans. Every recorded span must be either received or counted as dropped.
func TestSwitchingUnderLoadLosesNothingUncounted(t *testing.T) {
	a, b := newReceiver(t), newReceiver(t)
	tr := start(t, tracing.Options{})
	tracer := tr.Tracer("test")
	var recorded atomic.Int64
	var starters sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	progress := make(chan struct{})
	for range 4 {
		starters.Go(func() {
			for ctx.Err() == nil {
				within, parent := tracer.Start(t.Context(), "parent")
				_, child := tr.Tracer("other").Start(within, "child")
				for _, s := range []interface {
					IsRecording() bool
				}{parent, child} {
					if s.IsRecording() {
						recorded.Add(1)
					}
				}
				child.End()
				parent.End()
				select {
				case progress <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 5 {
		for _, next := range []struct {
			enabled bool
			c       *tracingapi.TracingConfiguration
		}{
			{true, rate(a, all)}, {true, nil}, {true, rate(b, all/2)}, {true, rate(b, all)}, {false, nil},
			{true, rate(a, 0)}, {true, rate(b, all)},
		} {
			set(t, tr, next.enabled, next.c)
			<-progress
		}
	}
	stop()
	starters.Wait()
	shutdown(t, tr)
	received := int64(len(a.names()) + len(b.names()))
	if got := received + tr.Dropped(); got != recorded.Load() || received == 0 {
		t.Errorf("%d recorded, but %d received and %d dropped", recorded.Load(), received, tr.Dropped())
	}
	t.Logf("%d recorded, %d received, %d dropped", recorded.Load(), received, tr.Dropped())
}
