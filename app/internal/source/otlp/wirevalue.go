// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"math"

	"go.opentelemetry.io/otel/attribute"
)

// protoAttribute pushes one KeyValue onto the stack; its list begins at mark.
func (b *batch) protoAttribute(msg []byte, mark, depth int) error {
	if !b.room(len(b.kvs) - mark) {
		return nil
	}
	var kv attribute.KeyValue
	f := fields{rest: msg}
	for f.next() {
		switch f.key {
		case 1<<3 | delimited:
			kv.Key = attribute.Key(b.texts.name(f.bytes))
		case 2<<3 | delimited:
			var err error
			kv.Value, err = b.protoValue(f.bytes, depth)
			f.do(err)
		}
	}
	b.kvs = append(b.kvs, kv)
	return f.err
}

// protoValue decodes an AnyValue. Its last field wins.
func (b *batch) protoValue(msg []byte, depth int) (v attribute.Value, err error) {
	f := fields{rest: msg}
	for f.next() {
		switch f.key {
		case 1<<3 | delimited:
			v = attribute.StringValue(b.texts.text(f.bytes))
		case 2<<3 | varint:
			v = attribute.BoolValue(f.number != 0)
		case 3<<3 | varint:
			v = attribute.Int64Value(int64(f.number)) //nolint:gosec // as protobuf has it
		case 4<<3 | fixed64:
			v = attribute.Float64Value(math.Float64frombits(f.number))
		case 5<<3 | delimited:
			v, err = b.protoList(f.bytes, depth+1)
			f.do(err)
		case 6<<3 | delimited:
			v, err = b.protoTable(f.bytes, depth+1)
			f.do(err)
		case 7<<3 | delimited:
			v = attribute.ByteSliceValue(b.texts.bytes(f.bytes))
		}
	}
	return v, f.err
}

func (b *batch) protoList(msg []byte, depth int) (attribute.Value, error) {
	if b.tooDeep(depth) {
		return attribute.Value{}, nil
	}
	mark := len(b.values)
	f := fields{rest: msg}
	for f.next() {
		if f.key == 1<<3|delimited && b.room(len(b.values)-mark) {
			v, err := b.protoValue(f.bytes, depth)
			f.do(err)
			b.values = append(b.values, v)
		}
	}
	return b.list(mark), f.err
}

func (b *batch) protoTable(msg []byte, depth int) (attribute.Value, error) {
	if b.tooDeep(depth) {
		return attribute.Value{}, nil
	}
	mark := len(b.kvs)
	f := fields{rest: msg}
	for f.next() {
		if f.key == 1<<3|delimited {
			f.do(b.protoAttribute(f.bytes, mark, depth))
		}
	}
	return b.table(mark), f.err
}
