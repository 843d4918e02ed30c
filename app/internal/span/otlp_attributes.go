// SPDX-License-Identifier: Apache-2.0

package span

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// spanAttributes returns the span's attributes, then its fields as attributes. An attribute takes
// precedence over a field with the same key. No key is repeated. The result is in the memory of buf as far as
// that has room.
func spanAttributes(s *Span, buf []attribute.KeyValue) []attribute.KeyValue {
	const further = 16 // fields
	set := attributeSet{list: slices.Grow(buf[:0], len(s.Attributes)+further)}
	if len(s.Attributes) > few {
		set.at = make(map[attribute.Key]int, len(s.Attributes)+further)
	}
	for _, kv := range s.Attributes {
		set.put(kv)
	}
	set.object(s.Object)
	set.text(KeyOutcome, string(s.Outcome))
	set.text(KeyEvidence, string(s.Evidence))
	set.text(KeyTimeStart, string(s.Start.Source))
	set.text(KeyTimeEnd, string(s.End.Source))
	if s.Origin == nil { // else its status has the message
		set.text(KeyMessage, s.Message)
	}
	set.origin(s)
	return set.list
}

// few is the number of attributes up to which a search is faster than a map. Nearly all spans have fewer;
// an imported one may have any number.
const few = 64

// attributeSet is a list of attributes without duplicates, in order of arrival.
type attributeSet struct {
	list []attribute.KeyValue
	// at has the places by key; nil for few attributes.
	at map[attribute.Key]int
}

// find returns the place of the attribute with that key, or -1.
func (a *attributeSet) find(k attribute.Key) int {
	if a.at != nil {
		if i, known := a.at[k]; known {
			return i
		}
		return -1
	}
	return slices.IndexFunc(a.list, func(kv attribute.KeyValue) bool { return kv.Key == k })
}

// put adds kv; a second value replaces the first.
func (a *attributeSet) put(kv attribute.KeyValue) {
	if i := a.find(kv.Key); i >= 0 {
		a.list[i] = kv
		return
	}
	if a.at != nil {
		a.at[kv.Key] = len(a.list)
	}
	a.list = append(a.list, kv)
}

// text adds a string unless it is empty or its key is taken.
func (a *attributeSet) text(k attribute.Key, v string) {
	if v != "" && a.find(k) < 0 {
		a.put(k.String(v))
	}
}

func (a *attributeSet) object(ref object.Ref) {
	if ref.Kind.Kind == "" {
		return
	}
	a.text(KeyGroup, ref.Group)
	a.text(KeyVersion, ref.Version)
	a.text(KeyKind, ref.Kind.Kind)
	a.text(KeyNamespace, ref.Namespace)
	a.text(KeyName, ref.Name)
	a.text(KeyUID, string(ref.UID))
	a.text("k8s.namespace.name", ref.Namespace)
	prefix := kind.Of(ref.Group, ref.Kind.Kind).Attributes
	if prefix == "" {
		return
	}
	a.text(attribute.Key(prefix+"name"), ref.Name)
	if prefix != kind.Namespace.Attributes { // the conventions have no UID for it
		a.text(attribute.Key(prefix+"uid"), string(ref.UID))
	}
}

// origin adds the original IDs that differ from the current ones.
func (a *attributeSet) origin(s *Span) {
	if s.Origin == nil {
		return
	}
	if s.Origin.TraceID != s.TraceID && s.Origin.TraceID.IsValid() {
		a.text(KeyOriginTrace, s.Origin.TraceID.String())
	}
	if s.Origin.Parent != s.Parent {
		a.text(KeyOriginParent, s.Origin.Parent.String())
	}
}

// toKeyValues converts the attributes with a key.
func toKeyValues(kvs []attribute.KeyValue) []*commonpb.KeyValue {
	return slices.DeleteFunc(KeyValues(kvs, text), func(kv *commonpb.KeyValue) bool { return kv.GetKey() == "" })
}

// AnyValue converts a value of any type to OTLP. It passes each string through text. A value
// without a type is empty.
func AnyValue(v attribute.Value, text func(string) string) *commonpb.AnyValue {
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
		return toArray(v.AsStringSlice(), attribute.StringValue, text)
	case attribute.INT64SLICE:
		return toArray(v.AsInt64Slice(), attribute.Int64Value, text)
	case attribute.FLOAT64SLICE:
		return toArray(v.AsFloat64Slice(), attribute.Float64Value, text)
	case attribute.BOOLSLICE:
		return toArray(v.AsBoolSlice(), attribute.BoolValue, text)
	case attribute.SLICE:
		return toArray(v.AsSlice(), func(v attribute.Value) attribute.Value { return v }, text)
	case attribute.MAP:
		return &commonpb.AnyValue{
			Value: &commonpb.AnyValue_KvlistValue{
				KvlistValue: &commonpb.KeyValueList{Values: KeyValues(v.AsMap(), text)},
			},
		}
	default:
		return &commonpb.AnyValue{}
	}
}

// KeyValues converts attributes to OTLP, with AnyValue for the values. Most values are strings, which share two
// allocations.
func KeyValues(kvs []attribute.KeyValue, text func(string) string) []*commonpb.KeyValue {
	if len(kvs) == 0 {
		return nil
	}
	type pair struct {
		kv    commonpb.KeyValue
		value commonpb.AnyValue
		text  commonpb.AnyValue_StringValue
	}
	pairs := make([]pair, len(kvs))
	out := make([]*commonpb.KeyValue, len(kvs))
	for i, kv := range kvs {
		p := &pairs[i]
		p.kv.Key = text(string(kv.Key))
		if kv.Value.Type() == attribute.STRING {
			p.text.StringValue = text(kv.Value.AsString())
			p.value.Value = &p.text
			p.kv.Value = &p.value
		} else {
			p.kv.Value = AnyValue(kv.Value, text)
		}
		out[i] = &p.kv
	}
	return out
}

func toArray[T any](items []T, value func(T) attribute.Value, text func(string) string) *commonpb.AnyValue {
	array := &commonpb.ArrayValue{Values: make([]*commonpb.AnyValue, len(items))}
	for i, item := range items {
		array.Values[i] = AnyValue(value(item), text)
	}
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: array}}
}

// IsWrite reports whether the span is an API write rather than work that followed from one.
func (s *Span) IsWrite() bool {
	verb, _, _ := strings.Cut(s.Name, " ")
	switch verb {
	case "create", "update", "patch", "apply", "delete":
		return true
	}
	return false
}
