// SPDX-License-Identifier: Apache-2.0

package span

import (
	"encoding/base64"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
)

// ToJSON returns the spans of ToOTLP as one document of OTLP JSON, {"resourceSpans":[…]}, on one line. It gives
// the bytes of the Collector's marshaler (package pdata), without the way through protobuf and its own
// structures.
func ToJSON(traces []*Trace, cluster string) []byte {
	const perSpan = 1 << 10 // bytes, of a usual span
	spans := 1
	for _, t := range traces {
		spans += len(t.Spans)
	}
	w := jsonWriter{jsonDocument: make(jsonDocument, 0, spans*perSpan)}
	w.raw(`{"resourceSpans":[`)
	array(&w, makersOf(traces, cluster), (*jsonWriter).maker)
	w.raw(`]}`)
	return w.jsonDocument
}

// jsonWriter writes structures of OTLP.
type jsonWriter struct {
	jsonDocument
	// scratch has the attributes of the present span.
	scratch []attribute.KeyValue
}

// jsonDocument is a JSON text without its end.
type jsonDocument []byte

func (d *jsonDocument) raw(s string) { *d = append(*d, s...) }

// key begins a member of an object; "{" is the last byte before the first one only.
func (d *jsonDocument) key(name string) {
	if (*d)[len(*d)-1] != '{' {
		d.raw(",")
	}
	d.raw(`"`) // not a concatenation, which allocates
	d.raw(name)
	d.raw(`":`)
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
func (d *jsonDocument) nanos(name string, at time.Time) {
	if n := nanos(at); n != 0 {
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
func array[T any](w *jsonWriter, items []T, add func(*jsonWriter, T)) {
	for i, item := range items {
		if i > 0 {
			w.raw(",")
		}
		add(w, item)
	}
}

// list adds a member with an array unless it is empty.
func list[T any](w *jsonWriter, name string, items []T, add func(*jsonWriter, T)) {
	if len(items) > 0 {
		w.key(name)
		w.raw("[")
		array(w, items, add)
		w.raw("]")
	}
}

func (w *jsonWriter) maker(m *maker) {
	w.raw(`{"resource":{`)
	w.attributes(m.attributes)
	w.raw("}")
	list(w, "scopeSpans", m.scopes, (*jsonWriter).made)
	w.text("schemaUrl", m.schema)
	w.raw("}")
}

func (w *jsonWriter) made(m *madeSpans) {
	w.raw(`{"scope":{`)
	w.text("name", m.scope.Name)
	w.text("version", m.scope.Version)
	w.raw("}")
	list(w, "spans", m.spans, (*jsonWriter).span)
	w.text("schemaUrl", m.schema)
	w.raw("}")
}

func (w *jsonWriter) span(s *Span) {
	w.raw("{")
	w.id("traceId", s.TraceID[:])
	w.id("spanId", s.ID[:])
	w.text("traceState", s.traceState())
	w.id("parentSpanId", s.Parent[:])
	w.number("flags", int64(s.flags()))
	w.text("name", text(s.Name))
	w.number("kind", int64(s.kind()))
	w.nanos("startTimeUnixNano", s.Start.Time)
	w.nanos("endTimeUnixNano", latest(s.End.Time, s.Start.Time))
	w.scratch = spanAttributes(s, w.scratch)
	w.attributes(w.scratch)
	list(w, "events", s.Events, (*jsonWriter).event)
	w.number("droppedEventsCount", int64(max(0, s.DroppedEvents)))
	list(w, "links", s.Links, (*jsonWriter).link)
	w.key("status")
	w.raw("{")
	status := toStatus(s)
	w.text("message", status.GetMessage())
	w.number("code", int64(status.GetCode()))
	w.raw("}}")
}

func (w *jsonWriter) event(e Event) {
	w.raw("{")
	w.nanos("timeUnixNano", e.Time)
	w.text("name", text(e.Name))
	w.attributes(e.Attributes)
	w.raw("}")
}

func (w *jsonWriter) link(l Link) {
	w.raw("{")
	w.id("traceId", l.TraceID[:])
	w.id("spanId", l.SpanID[:])
	w.attributes(l.AllAttributes())
	w.number("flags", int64(linkFlags))
	w.raw("}")
}

// attributes adds those with a key, unless there are none.
func (w *jsonWriter) attributes(kvs []attribute.KeyValue) {
	begun := false
	for _, kv := range kvs {
		if kv.Key == "" {
			continue
		}
		if begun {
			w.raw(",")
		} else {
			w.key("attributes")
			w.raw("[")
			begun = true
		}
		w.keyValue(kv)
	}
	if begun {
		w.raw("]")
	}
}

func (w *jsonWriter) keyValue(kv attribute.KeyValue) {
	w.raw("{")
	w.text("key", text(string(kv.Key)))
	w.key("value")
	w.value(kv.Value)
	w.raw("}")
}

// value adds what AnyValue has of v.
func (w *jsonWriter) value(v attribute.Value) {
	w.raw("{")
	switch v.Type() {
	case attribute.STRING:
		w.key("stringValue")
		w.quote(text(v.AsString()))
	case attribute.BOOL:
		w.key("boolValue")
		w.jsonDocument = strconv.AppendBool(w.jsonDocument, v.AsBool())
	case attribute.INT64:
		w.key("intValue")
		w.raw(`"`)
		w.jsonDocument = strconv.AppendInt(w.jsonDocument, v.AsInt64(), 10)
		w.raw(`"`)
	case attribute.FLOAT64:
		w.key("doubleValue")
		w.float(v.AsFloat64())
	case attribute.BYTESLICE:
		w.key("bytesValue")
		w.quote(base64.StdEncoding.EncodeToString(v.AsByteSlice()))
	case attribute.STRINGSLICE:
		values(w, v.AsStringSlice(), attribute.StringValue)
	case attribute.INT64SLICE:
		values(w, v.AsInt64Slice(), attribute.Int64Value)
	case attribute.FLOAT64SLICE:
		values(w, v.AsFloat64Slice(), attribute.Float64Value)
	case attribute.BOOLSLICE:
		values(w, v.AsBoolSlice(), attribute.BoolValue)
	case attribute.SLICE:
		values(w, v.AsSlice(), func(v attribute.Value) attribute.Value { return v })
	case attribute.MAP:
		w.key("kvlistValue")
		w.raw("{")
		list(w, "values", v.AsMap(), (*jsonWriter).keyValue)
		w.raw("}")
	}
	w.raw("}")
}

// values adds an array of values.
func values[T any](w *jsonWriter, items []T, value func(T) attribute.Value) {
	w.key("arrayValue")
	w.raw("{")
	list(w, "values", items, func(w *jsonWriter, item T) { w.value(value(item)) })
	w.raw("}")
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
