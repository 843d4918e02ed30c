// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"encoding/binary"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of OTLP's messages (opentelemetry/proto/trace/v1/trace.proto, common/v1/common.proto). The
// field numbers of OTLP are stable.
const (
	fieldSpans protowire.Number = 2 // of ScopeSpans

	fieldTraceID    protowire.Number = 1 // of Span
	fieldSpanID     protowire.Number = 2
	fieldTraceState protowire.Number = 3
	fieldParent     protowire.Number = 4
	fieldName       protowire.Number = 5
	fieldKind       protowire.Number = 6
	fieldStart      protowire.Number = 7
	fieldEnd        protowire.Number = 8
	fieldAttributes protowire.Number = 9
	fieldEvents     protowire.Number = 11
	fieldStatus     protowire.Number = 15
	fieldFlags      protowire.Number = 16

	fieldEventTime protowire.Number = 1 // of Span.Event
	fieldEventName protowire.Number = 2

	fieldStatusMessage protowire.Number = 2 // of Status
	fieldStatusCode    protowire.Number = 3

	fieldKey    protowire.Number = 1 // of KeyValue
	fieldValue  protowire.Number = 2
	fieldString protowire.Number = 1 // of AnyValue
	fieldBool   protowire.Number = 2
	fieldInt    protowire.Number = 3
	fieldDouble protowire.Number = 4
	fieldArray  protowire.Number = 5
	fieldValues protowire.Number = 1 // of ArrayValue
)

// Tags of one byte: the field and the type of a message or a string.
const (
	tagAttributes = byte(fieldAttributes<<3) | byte(protowire.BytesType)
	tagKey        = byte(fieldKey<<3) | byte(protowire.BytesType)
	tagValue      = byte(fieldValue<<3) | byte(protowire.BytesType)
)

const (
	kindInternal = 1
	statusError  = 2
)

// minMemory is the first memory of a wire: the spans of a usual attempt.
const minMemory = 8 << 10

// key is the key of an attribute.
type key string

// wire encodes spans as the elements of OTLP's ScopeSpans. An attempt has some thirty spans, and
// the SDK's objects for them would cost several times the rest of the attempt's record.
//
// It counts the used bytes of its memory in an int. A slice would cost more to change: each change would be one of
// a pointer, which the garbage collector tracks.
type wire struct {
	memory []byte
	used   int
}

// encoded returns the encoded spans. They are valid until the next change.
func (w *wire) encoded() []byte { return w.memory[:w.used] }

// clear removes all spans, and keeps the memory.
func (w *wire) clear() { w.used = 0 }

// next returns the next n bytes to fill.
func (w *wire) next(n int) []byte {
	if len(w.memory)-w.used < n {
		w.grow(n)
	}
	w.used += n
	return w.memory[w.used-n : w.used]
}

// grow makes room for n bytes.
func (w *wire) grow(n int) {
	more := make([]byte, max(minMemory, 2*len(w.memory), w.used+n))
	copy(more, w.encoded())
	w.memory = more
}

// raw appends encoded fields.
func (w *wire) raw(fields []byte) { copy(w.next(len(fields)), fields) }

func (w *wire) varint(v uint64) {
	for ; v >= 0x80; v >>= 7 {
		w.next(1)[0] = byte(v) | 0x80
	}
	w.next(1)[0] = byte(v)
}

func (w *wire) tag(field protowire.Number, kind protowire.Type) {
	w.varint(protowire.EncodeTag(field, kind))
}

// length is the size of a message, as protobuf encodes it.
func length(n int) uint64 { return uint64(n) } //nolint:gosec // never negative

// bits are those of an integer, as protobuf encodes it.
func bits(n int64) uint64 { return uint64(n) } //nolint:gosec // all 64 bits count

// open begins a message in a field, and returns its start for shut.
func (w *wire) open(field protowire.Number) int {
	w.tag(field, protowire.BytesType)
	w.next(1) // for the size
	return w.used
}

// shut ends the message that begins at start.
func (w *wire) shut(start int) { w.resize(start, 1) }

// spanSize is the number of bytes for the size of a span: most have between 128 and 16,383 bytes.
const spanSize = 2

// openSpan begins a span, and returns its start for shutSpan.
func (w *wire) openSpan() int {
	w.tag(fieldSpans, protowire.BytesType)
	w.next(spanSize)
	return w.used
}

// shutSpan ends the span that begins at start.
func (w *wire) shutSpan(start int) { w.resize(start, spanSize) }

// resize writes the size of the message from start to the end. room is the number of bytes before
// start that are left for it.
func (w *wire) resize(start, room int) {
	n := w.used - start
	size := protowire.SizeVarint(length(n))
	if size > room {
		w.next(size - room)
	}
	if size != room {
		copy(w.memory[start-room+size:], w.memory[start:start+n])
		w.used = start - room + size + n
	}
	protowire.AppendVarint(w.memory[start-room:start-room:start-room+size], length(n))
}

func (w *wire) bytes(field protowire.Number, value []byte) {
	w.tag(field, protowire.BytesType)
	w.varint(length(len(value)))
	w.raw(value)
}

// text appends a string. OTLP's strings are valid UTF-8.
func (w *wire) text(field protowire.Number, value string) {
	value = valid(value)
	w.tag(field, protowire.BytesType)
	w.varint(length(len(value)))
	copy(w.next(len(value)), value)
}

func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

func (w *wire) number(field protowire.Number, value uint64) {
	w.tag(field, protowire.VarintType)
	w.varint(value)
}

func (w *wire) fixed64(field protowire.Number, value uint64) {
	w.tag(field, protowire.Fixed64Type)
	binary.LittleEndian.PutUint64(w.next(8), value)
}

func (w *wire) time(field protowire.Number, value time.Time) {
	w.fixed64(field, bits(value.UnixNano()))
}

// attribute begins an attribute. It returns the starts of both messages, for attributeEnd.
func (w *wire) attribute(name key) (outer, inner int) {
	outer = w.open(fieldAttributes)
	w.text(fieldKey, string(name))
	return outer, w.open(fieldValue)
}

func (w *wire) attributeEnd(outer, inner int) {
	w.shut(inner)
	w.shut(outer)
}

// scalar begins an attribute with a known size of its AnyValue.
func (w *wire) scalar(name key, size int) {
	inner := 4 + len(name) + size // with the tags and the sizes of both fields, of one byte each
	if len(name) < 0x80 && size < 0x80 && inner < 0x80 {
		b := w.next(4 + len(name) + 2)
		b[0], b[1], b[2], b[3] = tagAttributes, byte(inner), tagKey, byte(len(name)) //nolint:gosec // below 0x80
		b = b[4+copy(b[4:], name):]
		b[0], b[1] = tagValue, byte(size) //nolint:gosec // below 0x80
		return
	}
	w.tag(fieldAttributes, protowire.BytesType)
	w.varint(length(protowire.SizeTag(fieldKey) + protowire.SizeBytes(len(name)) +
		protowire.SizeTag(fieldValue) + protowire.SizeBytes(size)))
	w.tag(fieldKey, protowire.BytesType)
	w.varint(length(len(name)))
	copy(w.next(len(name)), name)
	w.tag(fieldValue, protowire.BytesType)
	w.varint(length(size))
}

func (w *wire) string(name key, value string) {
	value = valid(value)
	w.scalar(name, protowire.SizeTag(fieldString)+protowire.SizeBytes(len(value)))
	w.tag(fieldString, protowire.BytesType)
	w.varint(length(len(value)))
	copy(w.next(len(value)), value)
}

func (w *wire) int(name key, value int64) {
	w.scalar(name, protowire.SizeTag(fieldInt)+protowire.SizeVarint(bits(value)))
	w.number(fieldInt, bits(value))
}

func (w *wire) float(name key, value float64) {
	w.scalar(name, protowire.SizeTag(fieldDouble)+protowire.SizeFixed64())
	w.fixed64(fieldDouble, math.Float64bits(value))
}

func (w *wire) bool(name key, value bool) {
	w.scalar(name, protowire.SizeTag(fieldBool)+1)
	w.number(fieldBool, protowire.EncodeBool(value))
}

func (w *wire) strings(name key, values []string) {
	outer, inner := w.attribute(name)
	array := w.open(fieldArray)
	for _, v := range values {
		value := w.open(fieldValues)
		w.text(fieldString, v)
		w.shut(value)
	}
	w.shut(array)
	w.attributeEnd(outer, inner)
}

func (w *wire) ints(name key, values []int64) {
	outer, inner := w.attribute(name)
	array := w.open(fieldArray)
	for _, v := range values {
		value := w.open(fieldValues)
		w.number(fieldInt, bits(v))
		w.shut(value)
	}
	w.shut(array)
	w.attributeEnd(outer, inner)
}

// event appends an event without attributes.
func (w *wire) event(name string, at time.Time) {
	event := w.open(fieldEvents)
	w.time(fieldEventTime, at)
	w.text(fieldEventName, name)
	w.shut(event)
}

// failed appends the status of a failed span.
func (w *wire) failed(text string) {
	status := w.open(fieldStatus)
	w.text(fieldStatusMessage, text)
	w.number(fieldStatusCode, statusError)
	w.shut(status)
}

// flags appends the flags of a span.
func (w *wire) flags(flags uint32) {
	w.tag(fieldFlags, protowire.Fixed32Type)
	binary.LittleEndian.PutUint32(w.next(4), flags)
}
