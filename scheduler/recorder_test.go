// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// recorder is an OTLP client that decodes and keeps the spans.
type recorder struct {
	mu    sync.Mutex
	spans []sdktrace.ReadOnlySpan
}

func (*recorder) Start(context.Context) error { return nil }

func (*recorder) Stop(context.Context) error { return nil }

func (r *recorder) UploadTraces(_ context.Context, all []*tracepb.ResourceSpans) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range all {
		encoded, err := proto.Marshal(of)
		if err != nil {
			return err
		}
		decoded := &tracepb.ResourceSpans{}
		if err := proto.Unmarshal(encoded, decoded); err != nil {
			return err
		}
		for _, scope := range decoded.ScopeSpans {
			for _, s := range scope.Spans {
				span, err := spanOf(s)
				if err != nil {
					return err
				}
				r.spans = append(r.spans, span)
			}
		}
	}
	return nil
}

// Ended returns the spans so far.
func (r *recorder) Ended() []sdktrace.ReadOnlySpan {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// spanOf returns the span of a message. It is an error for a field that is not known.
func spanOf(s *tracepb.Span) (sdktrace.ReadOnlySpan, error) {
	if unknown := s.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		return nil, fmt.Errorf("span %q has unknown fields %x", s.Name, unknown)
	}
	if len(s.TraceId) != len(trace.TraceID{}) || len(s.SpanId) != len(trace.SpanID{}) {
		return nil, fmt.Errorf("span %q has the IDs %x and %x", s.Name, s.TraceId, s.SpanId)
	}
	state, err := trace.ParseTraceState(s.TraceState)
	if err != nil {
		return nil, err
	}
	of := func(id []byte, remote bool) trace.SpanContext {
		config := trace.SpanContextConfig{
			TraceID: trace.TraceID(s.TraceId), TraceFlags: trace.TraceFlags(s.Flags), TraceState: state, Remote: remote,
		}
		copy(config.SpanID[:], id)
		return trace.NewSpanContext(config)
	}
	remote := s.Flags&uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK) != 0
	stub := tracetest.SpanStub{
		Name: s.Name, SpanContext: of(s.SpanId, false), Parent: of(s.ParentSpanId, remote),
		SpanKind:  trace.SpanKind(s.Kind),
		StartTime: time.Unix(0, int64(s.StartTimeUnixNano)), EndTime: time.Unix(0, int64(s.EndTimeUnixNano)),
		Attributes: attributesOf(s.Attributes),
	}
	for _, e := range s.Events {
		stub.Events = append(stub.Events, sdktrace.Event{
			Name: e.Name, Time: time.Unix(0, int64(e.TimeUnixNano)), Attributes: attributesOf(e.Attributes),
		})
	}
	if s.Status != nil {
		stub.Status.Description = s.Status.Message
		if s.Status.Code == tracepb.Status_STATUS_CODE_ERROR {
			stub.Status.Code = codes.Error
		}
	}
	return stub.Snapshot(), nil
}

func attributesOf(all []*commonpb.KeyValue) (out []attribute.KeyValue) {
	for _, kv := range all {
		key := attribute.Key(kv.Key)
		switch v := kv.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			out = append(out, key.String(v.StringValue))
		case *commonpb.AnyValue_BoolValue:
			out = append(out, key.Bool(v.BoolValue))
		case *commonpb.AnyValue_IntValue:
			out = append(out, key.Int64(v.IntValue))
		case *commonpb.AnyValue_DoubleValue:
			out = append(out, key.Float64(v.DoubleValue))
		case *commonpb.AnyValue_ArrayValue:
			var texts []string
			var numbers []int64
			for _, v := range v.ArrayValue.Values {
				switch v := v.Value.(type) {
				case *commonpb.AnyValue_StringValue:
					texts = append(texts, v.StringValue)
				case *commonpb.AnyValue_IntValue:
					numbers = append(numbers, v.IntValue)
				}
			}
			if texts != nil {
				out = append(out, key.StringSlice(texts))
			} else {
				out = append(out, key.Int64Slice(numbers))
			}
		}
	}
	return out
}
