// SPDX-License-Identifier: Apache-2.0

package tracing_test

import (
	"context"
	"net"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-lifeline/lifeline/operator/tracing"
)

// quiet hides the SDK's errors about failed exports.
func quiet(t *testing.T) {
	t.Helper()
	former := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	t.Cleanup(func() { otel.SetErrorHandler(former) })
}

func TestDeadEndpointNeverBlocks(t *testing.T) {
	cases := map[string]struct {
		reason string
		keep   bool // the port stays open without a server
	}{
		"refused": {reason: "the port is closed"},
		"mute":    {reason: "the kernel accepts connections, but there is no server", keep: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			quiet(t)
			t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "64")
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			if tc.keep {
				defer l.Close()
			} else {
				l.Close()
			}
			tr, err := tracing.New(tracing.Options{Enabled: true, Configuration: &tracingapi.TracingConfiguration{
				Endpoint: ptr.To(l.Addr().String()), SamplingRatePerMillion: ptr.To[int32](all),
			}})
			if err != nil {
				t.Fatal(err)
			}
			const spans = 10_000
			began := time.Now()
			for range spans {
				_, s := tr.Tracer("test").Start(t.Context(), "root")
				s.End()
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("%s: %d spans took %v", tc.reason, spans, took)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			began = time.Now()
			if err := tr.Set(ctx, false, nil); err != nil {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("%s: switching off took %v", tc.reason, took)
			}
			if got := tr.Dropped(); got != spans {
				t.Errorf("%s: %d dropped, want %d", tc.reason, got, spans)
			}
		})
	}
}

func TestShutdownOfADeadEndpointSaysSo(t *testing.T) {
	quiet(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tr, err := tracing.New(tracing.Options{Enabled: true, Configuration: &tracingapi.TracingConfiguration{
		Endpoint: ptr.To(l.Addr().String()), SamplingRatePerMillion: ptr.To[int32](all),
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, s := tr.Tracer("test").Start(t.Context(), "root")
	s.End()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := tr.Shutdown(ctx); err == nil {
		t.Error("Shutdown returned no error for a lost span")
	}
	if got := tr.Dropped(); got != 1 {
		t.Errorf("%d dropped, want 1", got)
	}
}

// held is an exporter that blocks until it is released.
type held struct {
	entered, release chan struct{}
	got              int
}

func (h *held) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	select {
	case h.entered <- struct{}{}:
	default:
	}
	<-h.release
	h.got += len(spans) // the pipeline exports one batch at a time
	return nil
}

func (*held) Shutdown(context.Context) error { return nil }

func TestQueueIsBoundedAndDropsAreCounted(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "100")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")
	h := &held{entered: make(chan struct{}, 1), release: make(chan struct{})}
	tr := start(t, tracing.Options{
		Enabled: true, Exporter: h,
		Configuration: &tracingapi.TracingConfiguration{SamplingRatePerMillion: ptr.To[int32](all)},
	})
	span := func(n int) {
		for range n {
			_, s := tr.Tracer("test").Start(t.Context(), "root")
			s.End()
		}
	}
	span(10)
	<-h.entered // an export is in progress and blocks
	span(1000)
	if got := tr.Dropped(); got != 910 {
		t.Errorf("%d dropped with 100 pending, want 910", got)
	}
	close(h.release)
	shutdown(t, tr)
	if h.got != 100 || tr.Dropped() != 910 {
		t.Errorf("%d delivered and %d dropped, want 100 and 910", h.got, tr.Dropped())
	}
}

func TestExporterThatHangsIsNotWaitedFor(t *testing.T) {
	h := &held{entered: make(chan struct{}, 1), release: make(chan struct{})}
	tr, err := tracing.New(tracing.Options{
		Enabled: true, Exporter: h,
		Configuration: &tracingapi.TracingConfiguration{SamplingRatePerMillion: ptr.To[int32](all)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, s := tr.Tracer("test").Start(t.Context(), "root")
		s.End()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tr.Shutdown(ctx); err == nil {
		t.Error("Shutdown returned no error for cancelled spans")
	}
	if got := tr.Dropped(); got != 3 {
		t.Errorf("%d dropped, want 3", got)
	}
	close(h.release)
}
