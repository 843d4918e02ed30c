// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// fields iterates over the fields of a protobuf message. Its key combines the field number and the
// wire type. So a known number with another wire type counts as an unknown field and is skipped.
type fields struct {
	rest []byte
	// key is the key of the current field. number is the value of a varint or fixed field, bytes
	// that of a length-delimited field.
	key    uint64
	number uint64
	bytes  []byte
	err    error
}

// Wire types, the low bits of a field's key.
const (
	varint    = uint64(protowire.VarintType)
	fixed64   = uint64(protowire.Fixed64Type)
	fixed32   = uint64(protowire.Fixed32Type)
	delimited = uint64(protowire.BytesType)
)

// next advances to the next field and reports whether there is one. If not, err is set if the
// message is damaged.
func (f *fields) next() bool {
	if len(f.rest) == 0 || f.err != nil {
		return false
	}
	num, typ, n := protowire.ConsumeTag(f.rest)
	if n < 0 {
		return f.damaged(n)
	}
	f.rest, f.key = f.rest[n:], protowire.EncodeTag(num, typ)
	switch typ {
	case protowire.VarintType:
		f.number, n = protowire.ConsumeVarint(f.rest)
	case protowire.Fixed64Type:
		f.number, n = protowire.ConsumeFixed64(f.rest)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(f.rest)
		f.number = uint64(v)
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(f.rest)
	default:
		n = protowire.ConsumeFieldValue(num, typ, f.rest)
	}
	if n < 0 {
		return f.damaged(n)
	}
	f.rest = f.rest[n:]
	return true
}

func (f *fields) damaged(code int) bool {
	f.err = fmt.Errorf("%w: %w", errMalformed, protowire.ParseError(code))
	return false
}

// do records the first error from reading a field's message.
func (f *fields) do(err error) {
	if f.err == nil {
		f.err = err
	}
}

// readProto decodes an ExportTraceServiceRequest by hand. Generated code would allocate an object
// for each value before any bound applies: see BenchmarkDecode.
func (b *batch) readProto(body []byte) error {
	f := fields{rest: body}
	for f.next() {
		if f.key == 1<<3|delimited {
			f.do(b.protoResourceSpans(f.bytes))
		}
	}
	return f.err
}

func (b *batch) protoResourceSpans(msg []byte) error {
	b.beginResource()
	f := fields{rest: msg}
	for f.next() {
		switch f.key {
		case 1<<3 | delimited:
			f.do(b.protoResource(f.bytes))
		case 2<<3 | delimited:
			f.do(b.protoScopeSpans(f.bytes))
		case 3<<3 | delimited:
			b.resource.SchemaURL = b.texts.name(f.bytes)
		}
	}
	f.do(b.endResource())
	return f.err
}

func (b *batch) protoResource(msg []byte) error {
	mark := b.beginPart()
	f := fields{rest: msg}
	for f.next() {
		if f.key == 1<<3|delimited {
			f.do(b.protoAttribute(f.bytes, mark, 0))
		}
	}
	b.endPart()
	return f.err
}

func (b *batch) protoScopeSpans(msg []byte) error {
	b.beginScope()
	f := fields{rest: msg}
	for f.next() {
		switch f.key {
		case 1<<3 | delimited:
			f.do(b.protoScope(f.bytes))
		case 2<<3 | delimited:
			f.do(b.protoSpan(f.bytes))
		}
	}
	b.endScope()
	return f.err
}

func (b *batch) protoScope(msg []byte) error {
	f := fields{rest: msg}
	for f.next() {
		switch f.key {
		case 1<<3 | delimited:
			b.scope.Name = b.texts.name(f.bytes)
		case 2<<3 | delimited:
			b.scope.Version = b.texts.name(f.bytes)
		}
	}
	return f.err
}

func (b *batch) protoSpan(msg []byte) error {
	d := b.beginSpan()
	f := fields{rest: msg}
	for f.next() {
		switch f.key {
		case 1<<3 | delimited:
			d.setID(d.span.TraceID[:], f.bytes)
		case 2<<3 | delimited:
			d.setID(d.span.ID[:], f.bytes)
		case 3<<3 | delimited:
			d.origin.TraceState = b.texts.text(f.bytes)
		case 4<<3 | delimited:
			d.setID(d.span.Parent[:], f.bytes)
		case 5<<3 | delimited:
			d.span.Name = b.texts.name(f.bytes)
		case 6<<3 | varint:
			d.setKind(int32(f.number)) //nolint:gosec // as protobuf has it
		case 7<<3 | fixed64:
			d.start = f.number
		case 8<<3 | fixed64:
			d.end = f.number
		case 9<<3 | delimited:
			f.do(b.protoAttribute(f.bytes, 0, 0))
		case 11<<3 | delimited:
			f.do(b.protoEvent(f.bytes))
		case 13<<3 | delimited:
			f.do(b.protoLink(f.bytes))
		case 15<<3 | delimited:
			f.do(b.protoStatus(f.bytes))
		case 16<<3 | fixed32:
			d.setFlags(uint32(f.number)) //nolint:gosec // read as 32 bits
		}
	}
	if f.err != nil {
		return f.err
	}
	return b.endSpan()
}

func (b *batch) protoStatus(msg []byte) error {
	f := fields{rest: msg}
	for f.next() {
		switch f.key {
		case 2<<3 | delimited:
			b.draft.message = b.texts.text(f.bytes)
		case 3<<3 | varint:
			b.draft.setStatus(int32(f.number)) //nolint:gosec // as protobuf has it
		}
	}
	return f.err
}

func (b *batch) protoEvent(msg []byte) error {
	if !b.roomForEvent() {
		return nil
	}
	var ns uint64
	var name string
	mark := len(b.kvs)
	f := fields{rest: msg}
	for f.next() {
		switch f.key {
		case 1<<3 | fixed64:
			ns = f.number
		case 2<<3 | delimited:
			name = b.texts.name(f.bytes)
		case 3<<3 | delimited:
			f.do(b.protoAttribute(f.bytes, mark, 0))
		}
	}
	b.addEvent(ns, name, mark)
	return f.err
}

func (b *batch) protoLink(msg []byte) error {
	if !b.roomForLink() {
		return nil
	}
	var l span.Link
	var ids draft // only misfit is used
	mark := len(b.kvs)
	f := fields{rest: msg}
	for f.next() {
		switch f.key {
		case 1<<3 | delimited:
			ids.setID(l.TraceID[:], f.bytes)
		case 2<<3 | delimited:
			ids.setID(l.SpanID[:], f.bytes)
		case 4<<3 | delimited:
			f.do(b.protoAttribute(f.bytes, mark, 0))
		}
	}
	b.addLink(l, ids.misfit, mark)
	return f.err
}
