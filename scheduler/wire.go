// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
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

const (
	kindInternal = 1
	statusError  = 2
)

// key is the key of an attribute.
type key string

// wire encodes spans as the elements of OTLP's ScopeSpans. An attempt has some thirty spans, and
// the SDK's objects for them would cost several times the rest of the attempt's record.
type wire []byte

// length is the size of a message, as protobuf encodes it.
func length(n int) uint64 { return uint64(n) } //nolint:gosec // never negative

// bits are those of an integer, as protobuf encodes it.
func bits(n int64) uint64 { return uint64(n) } //nolint:gosec // all 64 bits count

// open begins a message in a field, and returns its start for shut.
func (w *wire) open(field protowire.Number) int {
	*w = append(protowire.AppendTag(*w, field, protowire.BytesType), 0) // one byte for the size
	return len(*w)
}

// shut ends the message that begins at start.
func (w *wire) shut(start int) {
	b := *w
	n := len(b) - start
	if more := protowire.SizeVarint(length(n)) - 1; more > 0 { // the size takes more than one byte
		var room [9]byte
		b = append(b, room[:more]...)
		copy(b[start+more:], b[start:start+n])
	}
	protowire.AppendVarint(b[:start-1], length(n))
	*w = b
}

func (w *wire) bytes(field protowire.Number, value []byte) {
	*w = protowire.AppendBytes(protowire.AppendTag(*w, field, protowire.BytesType), value)
}

// text appends a string. OTLP's strings are valid UTF-8.
func (w *wire) text(field protowire.Number, value string) {
	*w = protowire.AppendString(protowire.AppendTag(*w, field, protowire.BytesType), valid(value))
}

func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

func (w *wire) number(field protowire.Number, value uint64) {
	*w = protowire.AppendVarint(protowire.AppendTag(*w, field, protowire.VarintType), value)
}

func (w *wire) fixed(field protowire.Number, value uint64) {
	*w = protowire.AppendFixed64(protowire.AppendTag(*w, field, protowire.Fixed64Type), value)
}

func (w *wire) time(field protowire.Number, value time.Time) {
	w.fixed(field, uint64(value.UnixNano()))
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

// scalar begins an attribute of which the size of the AnyValue is known.
func (w *wire) scalar(name key, size int) {
	keySize := protowire.SizeTag(fieldKey) + protowire.SizeBytes(len(name))
	*w = protowire.AppendTag(*w, fieldAttributes, protowire.BytesType)
	*w = protowire.AppendVarint(*w, length(keySize+protowire.SizeTag(fieldValue)+protowire.SizeBytes(size)))
	*w = protowire.AppendString(protowire.AppendTag(*w, fieldKey, protowire.BytesType), string(name))
	*w = protowire.AppendTag(*w, fieldValue, protowire.BytesType)
	*w = protowire.AppendVarint(*w, length(size))
}

func (w *wire) string(name key, value string) {
	value = valid(value)
	w.scalar(name, protowire.SizeTag(fieldString)+protowire.SizeBytes(len(value)))
	*w = protowire.AppendString(protowire.AppendTag(*w, fieldString, protowire.BytesType), value)
}

func (w *wire) int(name key, value int64) {
	w.scalar(name, protowire.SizeTag(fieldInt)+protowire.SizeVarint(bits(value)))
	w.number(fieldInt, bits(value))
}

func (w *wire) float(name key, value float64) {
	w.scalar(name, protowire.SizeTag(fieldDouble)+protowire.SizeFixed64())
	w.fixed(fieldDouble, math.Float64bits(value))
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
	*w = protowire.AppendFixed32(protowire.AppendTag(*w, fieldFlags, protowire.Fixed32Type), flags)
}
