// SPDX-License-Identifier: Apache-2.0

package span

import (
	"go.opentelemetry.io/otel/attribute"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
)

// maxDepth limits the nesting of a value; deeper values are empty.
const maxDepth = 64

// FromKeyValues is the inverse of KeyValues. OTLP has no element type for an empty array, nor does
// it distinguish a list of any values, all strings, from a list of strings. Such lists return as
// the simplest type with the same form in OTLP.
func FromKeyValues(kvs []*commonpb.KeyValue) []attribute.KeyValue { return fromKeyValues(kvs, 0) }

func fromKeyValues(kvs []*commonpb.KeyValue, depth int) []attribute.KeyValue {
	if len(kvs) == 0 {
		return nil
	}
	out := make([]attribute.KeyValue, len(kvs))
	for i, kv := range kvs {
		out[i] = attribute.KeyValue{Key: attribute.Key(kv.GetKey()), Value: fromValue(kv.GetValue(), depth)}
	}
	return out
}

func fromValue(v *commonpb.AnyValue, depth int) attribute.Value {
	if depth > maxDepth {
		return attribute.Value{}
	}
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
		return attribute.MapValue(fromKeyValues(v.KvlistValue.GetValues(), depth+1)...)
	case *commonpb.AnyValue_ArrayValue:
		return fromArray(v.ArrayValue.GetValues(), depth+1)
	}
	return attribute.Value{}
}

func fromArray(items []*commonpb.AnyValue, depth int) attribute.Value {
	values := make([]attribute.Value, len(items))
	for i, item := range items {
		values[i] = fromValue(item, depth)
	}
	return ListValue(values)
}

// ListValue returns an OTLP array as a value. It is a typed list if all items share a type, and a
// list of strings without items. It does not retain items.
func ListValue(items []attribute.Value) attribute.Value {
	kind := attribute.STRING
	for i, item := range items {
		if i == 0 {
			kind = item.Type()
		} else if item.Type() != kind {
			kind = attribute.SLICE
		}
	}
	switch kind {
	case attribute.STRING:
		return attribute.StringSliceValue(each(items, attribute.Value.AsString))
	case attribute.INT64:
		return attribute.Int64SliceValue(each(items, attribute.Value.AsInt64))
	case attribute.FLOAT64:
		return attribute.Float64SliceValue(each(items, attribute.Value.AsFloat64))
	case attribute.BOOL:
		return attribute.BoolSliceValue(each(items, attribute.Value.AsBool))
	}
	return attribute.SliceValue(items...)
}

func each[T any](values []attribute.Value, as func(attribute.Value) T) []T {
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = as(v)
	}
	return out
}
