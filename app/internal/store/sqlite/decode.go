// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// decode fills in s what encode has written. OTLP does not tell an empty array's
// type, nor a list of anything from one of strings that has only strings: they
// come back as the simplest type that has the same form in OTLP.
func decode(s *span.Span, data []byte) error {
	var in tracepb.Span
	if err := proto.Unmarshal(data, &in); err != nil {
		return err
	}
	s.Attributes = attributes(in.GetAttributes())
	for _, e := range in.GetEvents() {
		out := span.Event{Name: e.GetName(), Attributes: attributes(e.GetAttributes())}
		if ns := e.GetTimeUnixNano(); ns != 0 {
			out.Time = moment(int64(ns)) //nolint:gosec // all 64 bits come back
		}
		s.Events = append(s.Events, out)
	}
	for _, l := range in.GetLinks() {
		out := span.Link{Attributes: attributes(l.GetAttributes())}
		out.TraceID, out.SpanID = traceID(l.GetTraceId()), spanID(l.GetSpanId())
		s.Links = append(s.Links, out)
	}
	return nil
}

// traceID and spanID are zero for bytes that are none.
func traceID(raw []byte) (id trace.TraceID) {
	copy(id[:], raw)
	return id
}

func spanID(raw []byte) (id trace.SpanID) {
	copy(id[:], raw)
	return id
}

func attributes(kvs []*commonpb.KeyValue) []attribute.KeyValue {
	if len(kvs) == 0 {
		return nil
	}
	out := make([]attribute.KeyValue, len(kvs))
	for i, kv := range kvs {
		out[i] = attribute.KeyValue{Key: attribute.Key(kv.GetKey()), Value: unvalue(kv.GetValue())}
	}
	return out
}

func unvalue(v *commonpb.AnyValue) attribute.Value {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_BoolValue:
		return attribute.BoolValue(v.BoolValue)
	case *commonpb.AnyValue_IntValue:
		return attribute.Int64Value(v.IntValue)
	case *commonpb.AnyValue_DoubleValue:
		return attribute.Float64Value(v.DoubleValue)
	case *commonpb.AnyValue_StringValue:
		return attribute.StringValue(v.StringValue)
	case *commonpb.AnyValue_BytesValue:
		return attribute.ByteSliceValue(v.BytesValue)
	case *commonpb.AnyValue_KvlistValue:
		return attribute.MapValue(attributes(v.KvlistValue.GetValues())...)
	case *commonpb.AnyValue_ArrayValue:
		return unarray(v.ArrayValue.GetValues())
	}
	return attribute.Value{}
}

// unarray gives a list of one type where all items have it.
func unarray(items []*commonpb.AnyValue) attribute.Value {
	values := make([]attribute.Value, len(items))
	kind := attribute.STRING
	for i, item := range items {
		values[i] = unvalue(item)
		if i == 0 {
			kind = values[i].Type()
		} else if values[i].Type() != kind {
			kind = attribute.SLICE
		}
	}
	switch kind {
	case attribute.STRING:
		return attribute.StringSliceValue(each(values, attribute.Value.AsString))
	case attribute.INT64:
		return attribute.Int64SliceValue(each(values, attribute.Value.AsInt64))
	case attribute.FLOAT64:
		return attribute.Float64SliceValue(each(values, attribute.Value.AsFloat64))
	case attribute.BOOL:
		return attribute.BoolSliceValue(each(values, attribute.Value.AsBool))
	}
	return attribute.SliceValue(values...)
}

func each[T any](values []attribute.Value, as func(attribute.Value) T) []T {
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = as(v)
	}
	return out
}
