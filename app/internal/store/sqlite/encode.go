// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// encode writes what a span has beside its columns as an OTLP Span. The same
// always gives the same bytes.
func encode(s *span.Span) ([]byte, error) {
	out := &tracepb.Span{Attributes: keyValues(s.Attributes)}
	for _, e := range s.Events {
		out.Events = append(out.Events, &tracepb.Span_Event{
			TimeUnixNano: eventNanos(e.Time), Name: text(e.Name), Attributes: keyValues(e.Attributes),
		})
	}
	for _, l := range s.Links {
		out.Links = append(out.Links, &tracepb.Span_Link{
			TraceId: slices.Clone(l.TraceID[:]), SpanId: slices.Clone(l.SpanID[:]), Attributes: keyValues(l.Attributes),
		})
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(out)
}

// eventNanos keeps all of int64 in OTLP's unsigned field, and 0 for no time.
func eventNanos(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(nanos(t)) //nolint:gosec // all 64 bits come back
}

// text is s as SQLite and OTLP take it.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func keyValues(kvs []attribute.KeyValue) []*commonpb.KeyValue {
	out := make([]*commonpb.KeyValue, len(kvs))
	for i, kv := range kvs {
		out[i] = &commonpb.KeyValue{Key: text(string(kv.Key)), Value: value(kv.Value)}
	}
	return out
}

func value(v attribute.Value) *commonpb.AnyValue {
	switch v.Type() {
	case attribute.BOOL:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: v.AsBool()}}
	case attribute.INT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v.AsInt64()}}
	case attribute.FLOAT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}}
	case attribute.STRING:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: text(v.AsString())}}
	case attribute.BYTESLICE:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BytesValue{BytesValue: v.AsByteSlice()}}
	case attribute.STRINGSLICE:
		return array(v.AsStringSlice(), attribute.StringValue)
	case attribute.INT64SLICE:
		return array(v.AsInt64Slice(), attribute.Int64Value)
	case attribute.FLOAT64SLICE:
		return array(v.AsFloat64Slice(), attribute.Float64Value)
	case attribute.BOOLSLICE:
		return array(v.AsBoolSlice(), attribute.BoolValue)
	case attribute.SLICE:
		return array(v.AsSlice(), func(v attribute.Value) attribute.Value { return v })
	case attribute.MAP:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{Values: keyValues(v.AsMap())}}}
	default:
		return &commonpb.AnyValue{}
	}
}

func array[T any](items []T, of func(T) attribute.Value) *commonpb.AnyValue {
	out := &commonpb.ArrayValue{Values: make([]*commonpb.AnyValue, len(items))}
	for i, item := range items {
		out.Values[i] = value(of(item))
	}
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: out}}
}
