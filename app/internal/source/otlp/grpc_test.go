// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkresource "go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// exporters returns OpenTelemetry's exporters to r, with immediate retries.
func exporters(t *testing.T, r *Receiver) map[string]sdktrace.SpanExporter {
	t.Helper()
	const soon, long = time.Millisecond, time.Minute
	out := map[string]sdktrace.SpanExporter{}
	for name, compressor := range map[string]string{"grpc": "", "grpc, gzip": "gzip"} {
		opts := []otlptracegrpc.Option{
			otlptracegrpc.WithInsecure(),
			otlptracegrpc.WithEndpoint(r.GRPCAddr().String()),
			otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{
				Enabled:         true,
				InitialInterval: soon,
				MaxInterval:     soon,
				MaxElapsedTime:  long,
			}),
		}
		if compressor != "" {
			opts = append(opts, otlptracegrpc.WithCompressor(compressor))
		}
		out[name] = exporter(t)(otlptracegrpc.New(t.Context(), opts...))
	}
	for name, compression := range map[string]otlptracehttp.Compression{
		"http":       otlptracehttp.NoCompression,
		"http, gzip": otlptracehttp.GzipCompression,
	} {
		out[name] = exporter(t)(
			otlptracehttp.New(
				t.Context(),
				otlptracehttp.WithInsecure(),
				otlptracehttp.WithEndpoint(r.HTTPAddr().String()),
				otlptracehttp.WithCompression(compression),
				otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
					Enabled:         true,
					InitialInterval: soon,
					MaxInterval:     soon,
					MaxElapsedTime:  long,
				}),
			),
		)
	}
	return out
}

// exporter returns a function that checks the results of an exporter's constructor.
func exporter(t *testing.T) func(sdktrace.SpanExporter, error) sdktrace.SpanExporter {
	return func(e sdktrace.SpanExporter, err error) sdktrace.SpanExporter {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Shutdown(context.WithoutCancel(t.Context())) })
		return e
	}
}

// export makes spans like a component's and sends them as one request.
func export(t *testing.T, e sdktrace.SpanExporter, names ...string) {
	t.Helper()
	failed := make(chan error, 1)
	tp := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(checked{e, failed}, sdktrace.WithBatchTimeout(time.Hour)),
		sdktrace.WithResource(sdkresource.NewSchemaless(attribute.String("service.name", "kubelet"))))
	for _, name := range names {
		ctx, parent := tp.Tracer("lib", trace.WithInstrumentationVersion("3")).Start(t.Context(), "parent of "+name)
		_, s := tp.Tracer("lib").Start(
			ctx,
			name,
			trace.WithSpanKind(trace.SpanKindClient),
			trace.WithLinks(trace.LinkFromContext(ctx)),
		)
		s.AddEvent("happened")
		s.End()
		parent.End()
	}
	if err := tp.ForceFlush(t.Context()); err != nil {
		t.Errorf("flush: %v", err)
	}
	if err := <-failed; err != nil {
		t.Errorf("export: %v", err)
	}
	_ = tp.Shutdown(context.WithoutCancel(t.Context()))
}

// checked sends the result of the export to err.
type checked struct {
	sdktrace.SpanExporter
	err chan<- error
}

func (c checked) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	c.err <- c.SpanExporter.ExportSpans(ctx, spans)
	return nil
}

func (checked) Shutdown(context.Context) error { return nil }

// TestExporters: spans from OpenTelemetry's exporters arrive.
func TestExporters(t *testing.T) {
	sink := &basket{}
	r, _ := started(t, Options{Sink: sink})
	for name, e := range exporters(t, r) {
		export(t, e, name)
		got := sink.one(name)
		if got == nil {
			t.Errorf("%s: no span arrived", name)
			continue
		}
		parent := sink.one("parent of " + name)
		if got.Service != "kubelet" || got.Parent != parent.ID || got.TraceID != parent.TraceID || got.RemoteParent ||
			got.Origin.Kind != trace.SpanKindClient ||
			got.Links[0].SpanID != parent.ID ||
			got.Events[0].Name != "happened" ||
			parent.Origin.Scope != (span.Scope{Name: "lib", Version: "3"}) {
			t.Errorf("%s: got %+v of %+v", name, got, got.Origin)
		}
	}
	s := r.Stats()
	if s.Accepted != 8 || s.Requests["grpc"] != 2 || s.Requests["http/protobuf"] != 2 || s.Bytes == 0 || s.Active != 0 {
		t.Errorf("got %+v", s)
	}
}

// TestFullSinkLosesNothing: a sender refused by a full sink retries until each span has arrived
// once.
func TestFullSinkLosesNothing(t *testing.T) {
	for _, name := range []string{"grpc", "grpc, gzip", "http"} {
		t.Run(name, func(t *testing.T) {
			sink := &basket{refuse: 2}
			r, _ := started(t, Options{Sink: sink, RetryAfter: time.Millisecond})
			export(t, exporters(t, r)[name], "a", "b", "c")
			if spans, twice := sink.has(); spans != 6 || twice != 0 {
				t.Errorf("%d spans arrived, want 6; %d arrived twice", spans, twice)
			}
			if s := r.Stats(); s.Refused["full"] != 2 || s.Accepted != 6 {
				t.Errorf("got %+v", s)
			}
		})
	}
}

// dial returns a gRPC client without retries.
func dial(t *testing.T, r *Receiver, opts ...grpc.DialOption) coltracepb.TraceServiceClient {
	t.Helper()
	if len(opts) == 0 {
		opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	conn, err := grpc.NewClient("passthrough:///"+r.GRPCAddr().String(), append(opts, grpc.WithDisableRetry())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return coltracepb.NewTraceServiceClient(conn)
}

func TestGRPC(t *testing.T) {
	large := one(func(s *tracepb.Span) { s.Name = strings.Repeat("x", 2<<20) })
	cases := map[string]struct {
		reason string
		sink   Sink
		req    *coltracepb.ExportTraceServiceRequest
		opts   []grpc.CallOption
		code   codes.Code
		// again is whether the response has a retry delay.
		again    bool
		rejected int64
		counts   string
	}{
		"nothing": {reason: "an empty request is a success", req: &coltracepb.ExportTraceServiceRequest{}},
		"some": {
			reason: "the valid span is accepted, and the response counts the other",
			req: &coltracepb.ExportTraceServiceRequest{ResourceSpans: append(
				one(func(*tracepb.Span) {}).ResourceSpans,
				one(func(s *tracepb.Span) { s.SpanId = nil }).ResourceSpans...)},
			rejected: 1,
		},
		"full": {
			reason: "OTLP: retryable, with RetryInfo",
			sink:   SinkFunc(func(context.Context, []*span.Span) error { return errFull }),
			req:    one(func(*tracepb.Span) {}),
			code:   codes.Unavailable,
			again:  true,
			counts: "full",
		},
		"large": {
			reason: "OTLP: without RetryInfo the sender drops it",
			req:    large,
			code:   codes.ResourceExhausted,
			counts: "large",
		},
		"large when decompressed": {
			reason: "a decompression bomb is small on the wire",
			req:    large,
			opts:   []grpc.CallOption{grpc.UseCompressor(gzip.Name)},
			code:   codes.ResourceExhausted,
			counts: "large",
		},
		"bug": {
			reason: "one request does not end the server",
			sink:   SinkFunc(func(context.Context, []*span.Span) error { panic("bug") }),
			req:    one(func(*tracepb.Span) {}),
			code:   codes.Internal,
			counts: "bug",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			r, stop := started(t, Options{Sink: tc.sink, MaxBytes: 1 << 20})
			answer, err := dial(t, r).Export(t.Context(), tc.req, tc.opts...)
			stop() // the client may have the response before the request is counted
			s := status.Convert(err)
			if s.Code() != tc.code || strings.Contains(s.Message(), errFull.Error()) {
				t.Fatalf("got %v", err)
			}
			again := false
			for _, d := range s.Details() {
				info, ok := d.(*errdetails.RetryInfo)
				again = ok && info.GetRetryDelay().AsDuration() == DefaultRetryAfter
			}
			if again != tc.again {
				t.Errorf("the response has a retry delay: %v, want %v", again, tc.again)
			}
			if got := answer.GetPartialSuccess().GetRejectedSpans(); got != tc.rejected ||
				int64(r.Stats().Rejected["id"]) != tc.rejected {
				t.Errorf(
					"the response has %d rejected spans, want %d; counted %v", got, tc.rejected,
					r.Stats().Rejected,
				)
			}
			for reason, n := range r.Stats().Refused {
				if want := reason == tc.counts; want != (n == 1) {
					t.Errorf("refused as %s: %d", reason, n)
				}
			}
		})
	}
}

// TestGRPCMalformed sends invalid protobuf, which a gRPC client would not send.
func TestGRPCMalformed(t *testing.T) {
	r, _ := started(t, Options{})
	conn, err := grpc.NewClient(
		"passthrough:///"+r.GRPCAddr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var answer []byte
	err = conn.Invoke(t.Context(), exportMethod, []byte{1<<3 | 2, 200}, &answer, grpc.ForceCodec(rawCodec{}))
	if status.Code(err) != codes.InvalidArgument || r.Stats().Refused["malformed"] != 1 {
		t.Errorf("got %v, %v", err, r.Stats().Refused)
	}
	if err = conn.Invoke(
		t.Context(),
		"/opentelemetry.proto.collector.logs.v1.LogsService/Export",
		nil,
		&answer,
		grpc.ForceCodec(rawCodec{}),
	); status.Code(err) != codes.Unimplemented {
		t.Errorf("logs: got %v", err)
	}
}

const exportMethod = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

type rawCodec struct{}

func (rawCodec) Name() string                    { return "proto" }
func (rawCodec) Marshal(v any) ([]byte, error)   { b, _ := v.([]byte); return b, nil }
func (rawCodec) Unmarshal(b []byte, v any) error { *v.(*[]byte) = b; return nil }
func (rawCodec) String() string                  { return "raw" }

// TestGRPCSlow: an unfinished request times out and holds no turn.
func TestGRPCSlow(t *testing.T) {
	r, _ := started(t, Options{MaxRequests: 1, Timeout: 200 * time.Millisecond})
	conn, err := grpc.NewClient(
		"passthrough:///"+r.GRPCAddr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, exportMethod)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(&coltracepb.ExportTraceServiceResponse{}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
	if got := r.Stats().Refused; got["slow"] > 1 || got["malformed"] != 0 {
		t.Errorf("refused %v", got)
	}
	// On a slow machine these requests may also time out.
	next := dial(t, r)
	for r.Stats().Accepted == 0 && t.Context().Err() == nil {
		if _, err := next.Export(t.Context(), one(func(*tracepb.Span) {})); err != nil {
			t.Logf("after it: %v", err)
		}
	}
	if got := r.Stats().Refused["slow"]; got == 0 {
		t.Error("no request was counted as slow")
	}
}
