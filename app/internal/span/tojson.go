// SPDX-License-Identifier: Apache-2.0

package span

import (
	"encoding/base64"
	"encoding/hex"
	"math"
	"slices"
	"strconv"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// ToJSON returns spans of ToOTLP as one document of OTLP JSON, {"resourceSpans":[…]}, on one line. It gives the
// bytes of the Collector's marshaler (package pdata), without the way through protobuf and its own structures:
// that way takes twice the time and four times the memory.
func ToJSON(rs []*tracepb.ResourceSpans) []byte {
	const perSpan = 1 << 10 // bytes, of a usual span
	spans := 1
	for _, r := range rs {
		for _, ss := range r.GetScopeSpans() {
			spans += len(ss.GetSpans())
		}
	}
	d := make(jsonDocument, 0, spans*perSpan)
	d.raw(`{"resourceSpans":[`)
	array(&d, rs, (*jsonDocument).resourceSpans)
	d.raw(`]}`)
	return d
}

// jsonDocument is a JSON text without its end.
type jsonDocument []byte

func (d *jsonDocument) raw(s string) { *d = append(*d, s...) }

// key begins a member of an object; "{" is the last byte before the first one only.
func (d *jsonDocument) key(name string) {
	if (*d)[len(*d)-1] != '{' {
		d.raw(",")
	}
	d.raw(`"` + name + `":`)
}

// text adds a member unless the string is empty.
func (d *jsonDocument) text(name, s string) {
	if s != "" {
		d.key(name)
		d.quote(s)
	}
}

// number adds a member unless the number is zero.
func (d *jsonDocument) number(name string, n int64) {
	if n != 0 {
		d.key(name)
		*d = strconv.AppendInt(*d, n, 10)
	}
}

// nanos adds a time, a string as all 64-bit numbers in protobuf's JSON, unless it is unknown.
func (d *jsonDocument) nanos(name string, n uint64) {
	if n != 0 {
		d.key(name)
		d.raw(`"`)
		*d = strconv.AppendUint(*d, n, 10)
		d.raw(`"`)
	}
}

// id adds an ID in hexadecimal digits, as OTLP asks, unless it is zero.
func (d *jsonDocument) id(name string, id []byte) {
	if slices.ContainsFunc(id, func(b byte) bool { return b != 0 }) {
		d.key(name)
		d.raw(`"`)
		*d = hex.AppendEncode(*d, id)
		d.raw(`"`)
	}
}

// quote adds a string. s is valid UTF-8.
func (d *jsonDocument) quote(s string) {
	const digits = "0123456789abcdef"
	b := append(*d, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xf])
		}
	}
	*d = append(append(b, s[start:]...), '"')
}

// array adds items with commas between them.
func array[T any](d *jsonDocument, items []T, add func(*jsonDocument, T)) {
	for i, item := range items {
		if i > 0 {
			d.raw(",")
		}
		add(d, item)
	}
}

// list adds a member with an array unless it is empty.
func list[T any](d *jsonDocument, name string, items []T, add func(*jsonDocument, T)) {
	if len(items) > 0 {
		d.key(name)
		d.raw("[")
		array(d, items, add)
		d.raw("]")
	}
}

func (d *jsonDocument) resourceSpans(rs *tracepb.ResourceSpans) {
	d.raw(`{"resource":{`)
	list(d, "attributes", rs.GetResource().GetAttributes(), (*jsonDocument).keyValue)
	d.raw("}")
	list(d, "scopeSpans", rs.GetScopeSpans(), (*jsonDocument).scopeSpans)
	d.text("schemaUrl", rs.GetSchemaUrl())
	d.raw("}")
}

func (d *jsonDocument) scopeSpans(ss *tracepb.ScopeSpans) {
	d.raw(`{"scope":{`)
	d.text("name", ss.GetScope().GetName())
	d.text("version", ss.GetScope().GetVersion())
	d.raw("}")
	list(d, "spans", ss.GetSpans(), (*jsonDocument).span)
	d.text("schemaUrl", ss.GetSchemaUrl())
	d.raw("}")
}

func (d *jsonDocument) span(s *tracepb.Span) {
	d.raw("{")
	d.id("traceId", s.GetTraceId())
	d.id("spanId", s.GetSpanId())
	d.text("traceState", s.GetTraceState())
	d.id("parentSpanId", s.GetParentSpanId())
	d.number("flags", int64(s.GetFlags()))
	d.text("name", s.GetName())
	d.number("kind", int64(s.GetKind()))
	d.nanos("startTimeUnixNano", s.GetStartTimeUnixNano())
	d.nanos("endTimeUnixNano", s.GetEndTimeUnixNano())
	list(d, "attributes", s.GetAttributes(), (*jsonDocument).keyValue)
	list(d, "events", s.GetEvents(), (*jsonDocument).event)
	d.number("droppedEventsCount", int64(s.GetDroppedEventsCount()))
	list(d, "links", s.GetLinks(), (*jsonDocument).link)
	d.key("status")
	d.raw("{")
	d.text("message", s.GetStatus().GetMessage())
	d.number("code", int64(s.GetStatus().GetCode()))
	d.raw("}}")
}

func (d *jsonDocument) event(e *tracepb.Span_Event) {
	d.raw("{")
	d.nanos("timeUnixNano", e.GetTimeUnixNano())
	d.text("name", e.GetName())
	list(d, "attributes", e.GetAttributes(), (*jsonDocument).keyValue)
	d.raw("}")
}

func (d *jsonDocument) link(l *tracepb.Span_Link) {
	d.raw("{")
	d.id("traceId", l.GetTraceId())
	d.id("spanId", l.GetSpanId())
	list(d, "attributes", l.GetAttributes(), (*jsonDocument).keyValue)
	d.number("flags", int64(l.GetFlags()))
	d.raw("}")
}

func (d *jsonDocument) keyValue(kv *commonpb.KeyValue) {
	d.raw("{")
	d.text("key", kv.GetKey())
	d.key("value")
	d.value(kv.GetValue())
	d.raw("}")
}

func (d *jsonDocument) value(v *commonpb.AnyValue) {
	d.raw("{")
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		d.key("stringValue")
		d.quote(v.StringValue)
	case *commonpb.AnyValue_BoolValue:
		d.key("boolValue")
		*d = strconv.AppendBool(*d, v.BoolValue)
	case *commonpb.AnyValue_IntValue:
		d.key("intValue")
		d.raw(`"`)
		*d = strconv.AppendInt(*d, v.IntValue, 10)
		d.raw(`"`)
	case *commonpb.AnyValue_DoubleValue:
		d.key("doubleValue")
		d.float(v.DoubleValue)
	case *commonpb.AnyValue_BytesValue:
		d.key("bytesValue")
		d.quote(base64.StdEncoding.EncodeToString(v.BytesValue))
	case *commonpb.AnyValue_ArrayValue:
		d.key("arrayValue")
		d.raw("{")
		list(d, "values", v.ArrayValue.GetValues(), (*jsonDocument).value)
		d.raw("}")
	case *commonpb.AnyValue_KvlistValue:
		d.key("kvlistValue")
		d.raw("{")
		list(d, "values", v.KvlistValue.GetValues(), (*jsonDocument).keyValue)
		d.raw("}")
	}
	d.raw("}")
}

// float adds a number, or one of the strings that stand for the others.
func (d *jsonDocument) float(f float64) {
	const small, large = 1e-6, 1e21 // without an exponent between them
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		d.raw(`"NaN"`)
	case math.IsInf(f, 1):
		d.raw(`"Infinity"`)
	case math.IsInf(f, -1):
		d.raw(`"-Infinity"`)
	case abs != 0 && (abs < small || abs >= large):
		*d = strconv.AppendFloat(*d, f, 'e', -1, 64)
	default:
		*d = strconv.AppendFloat(*d, f, 'f', -1, 64)
	}
}
