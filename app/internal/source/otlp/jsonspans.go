// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"go.opentelemetry.io/otel/attribute"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// readJSON reads an ExportTraceServiceRequest in JSON.
func (b *batch) readJSON(body []byte) error {
	j := newJSONReader(body)
	j.open('{')
	for j.member() {
		switch string(j.name) {
		case "resourceSpans":
			j.open('[')
			for j.more() {
				b.jsonResourceSpans(j)
			}
		default:
			j.skip()
		}
	}
	j.end()
	return j.err
}

func (b *batch) jsonResourceSpans(j *jsonReader) {
	b.beginResource()
	j.open('{')
	for j.member() {
		switch string(j.name) {
		case "resource":
			b.jsonResource(j)
		case "scopeSpans":
			j.open('[')
			for j.more() {
				b.jsonScopeSpans(j)
			}
		case "schemaUrl":
			b.resource.SchemaURL = b.texts.name(j.text())
		default:
			j.skip()
		}
	}
	j.stop(b.endResource())
}

func (b *batch) jsonResource(j *jsonReader) {
	mark := b.beginPart()
	j.open('{')
	for j.member() {
		switch string(j.name) {
		case "attributes":
			b.jsonAttributes(j, mark, 0)
		default:
			j.skip()
		}
	}
	b.endPart()
}

func (b *batch) jsonScopeSpans(j *jsonReader) {
	b.beginScope()
	j.open('{')
	for j.member() {
		switch string(j.name) {
		case "scope":
			b.jsonScope(j)
		case "spans":
			j.open('[')
			for j.more() {
				b.jsonSpan(j)
			}
		default:
			j.skip()
		}
	}
	b.endScope()
}

func (b *batch) jsonScope(j *jsonReader) {
	j.open('{')
	for j.member() {
		switch string(j.name) {
		case "name":
			b.scope.Name = b.texts.name(j.text())
		case "version":
			b.scope.Version = b.texts.name(j.text())
		default:
			j.skip()
		}
	}
}

func (b *batch) jsonSpan(j *jsonReader) {
	d := b.beginSpan()
	j.open('{')
	for j.member() {
		switch string(j.name) {
		case "traceId":
			j.id(d, d.span.TraceID[:])
		case "spanId":
			j.id(d, d.span.ID[:])
		case "parentSpanId":
			j.id(d, d.span.Parent[:])
		case "traceState":
			d.origin.TraceState = b.texts.text(j.text())
		case "name":
			d.span.Name = b.texts.name(j.text())
		case "kind":
			d.setKind(j.enum(tracepb.Span_SpanKind_value))
		case "startTimeUnixNano":
			d.start = j.uint64()
		case "endTimeUnixNano":
			d.end = j.uint64()
		case "flags":
			d.setFlags(uint32(j.uint64())) //nolint:gosec // the bits that there are
		case "attributes":
			b.jsonAttributes(j, 0, 0)
		case "events":
			b.jsonEvents(j)
		case "links":
			b.jsonLinks(j)
		case "status":
			b.jsonStatus(j)
		default:
			j.skip()
		}
	}
	if j.err == nil {
		j.stop(b.endSpan())
	}
}

func (b *batch) jsonStatus(j *jsonReader) {
	j.open('{')
	for j.member() {
		switch string(j.name) {
		case "code":
			b.draft.setStatus(j.enum(tracepb.Status_StatusCode_value))
		case "message":
			b.draft.message = b.texts.text(j.text())
		default:
			j.skip()
		}
	}
}

func (b *batch) jsonEvents(j *jsonReader) {
	j.open('[')
	for j.more() {
		if !b.roomForEvent() {
			j.skip()
			continue
		}
		var ns uint64
		var name string
		mark := len(b.kvs)
		j.open('{')
		for j.member() {
			switch string(j.name) {
			case "timeUnixNano":
				ns = j.uint64()
			case "name":
				name = b.texts.name(j.text())
			case "attributes":
				b.jsonAttributes(j, mark, 0)
			default:
				j.skip()
			}
		}
		b.addEvent(ns, name, mark)
	}
}

func (b *batch) jsonLinks(j *jsonReader) {
	j.open('[')
	for j.more() {
		if !b.roomForLink() {
			j.skip()
			continue
		}
		var l span.Link
		var ids draft // of which only misfit counts
		mark := len(b.kvs)
		j.open('{')
		for j.member() {
			switch string(j.name) {
			case "traceId":
				j.id(&ids, l.TraceID[:])
			case "spanId":
				j.id(&ids, l.SpanID[:])
			case "attributes":
				b.jsonAttributes(j, mark, 0)
			default:
				j.skip()
			}
		}
		b.addLink(l, ids.misfit, mark)
	}
}

// jsonAttributes pushes a list of KeyValues, to the list that begins at mark.
func (b *batch) jsonAttributes(j *jsonReader, mark, depth int) {
	j.open('[')
	for j.more() {
		if !b.room(len(b.kvs) - mark) {
			j.skip()
			continue
		}
		var kv attribute.KeyValue
		j.open('{')
		for j.member() {
			switch string(j.name) {
			case "key":
				kv.Key = attribute.Key(b.texts.name(j.text()))
			case "value":
				kv.Value = b.jsonValue(j, depth)
			default:
				j.skip()
			}
		}
		b.kvs = append(b.kvs, kv)
	}
}

// jsonValue reads an AnyValue, of whose members the last counts.
func (b *batch) jsonValue(j *jsonReader, depth int) (v attribute.Value) {
	j.open('{')
	for j.member() {
		switch string(j.name) {
		case "stringValue":
			v = attribute.StringValue(b.texts.text(j.text()))
		case "boolValue":
			v = attribute.BoolValue(j.bool())
		case "intValue":
			v = attribute.Int64Value(j.int64())
		case "doubleValue":
			v = attribute.Float64Value(j.float64())
		case "bytesValue":
			v = attribute.ByteSliceValue(b.texts.bytes(j.base64()))
		case "arrayValue":
			v = b.jsonList(j, depth+1)
		case "kvlistValue":
			v = b.jsonTable(j, depth+1)
		default:
			j.skip()
		}
	}
	return v
}

func (b *batch) jsonList(j *jsonReader, depth int) attribute.Value {
	if b.tooDeep(depth) {
		j.skip()
		return attribute.Value{}
	}
	mark := len(b.values)
	j.open('{')
	for j.member() {
		if string(j.name) != "values" {
			j.skip()
			continue
		}
		j.open('[')
		for j.more() {
			if !b.room(len(b.values) - mark) {
				j.skip()
				continue
			}
			v := b.jsonValue(j, depth)
			b.values = append(b.values, v)
		}
	}
	return b.list(mark)
}

func (b *batch) jsonTable(j *jsonReader, depth int) attribute.Value {
	if b.tooDeep(depth) {
		j.skip()
		return attribute.Value{}
	}
	mark := len(b.kvs)
	j.open('{')
	for j.member() {
		switch string(j.name) {
		case "values":
			b.jsonAttributes(j, mark, depth)
		default:
			j.skip()
		}
	}
	return b.table(mark)
}
