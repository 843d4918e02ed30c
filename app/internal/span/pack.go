// SPDX-License-Identifier: Apache-2.0

package span

import (
	"errors"
	"math"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

var errPacked = errors.New("the data are damaged")

// packer encodes spans into buf, or decodes them from it. Each method handles both directions, so
// that the order of fields is written once. The first error is kept; later reads return zero
// values.
type packer struct {
	reading bool
	buf     []byte
	err     error
	// known holds the encoded texts by position; texts holds the decoded ones.
	known map[string]uint64
	texts []string
	// resources and objects are those so far, as texts are.
	resources repeated[*Resource]
	objects   repeated[object.Ref]
	// ids are the numbers of the spans so far, and spans their IDs.
	ids   map[trace.SpanID]uint64
	spans []trace.SpanID
	// trace is that of the previous span, and origin its original trace.
	trace, origin trace.TraceID
	// last is the previous time, in nanoseconds.
	last int64
}

// repeated are values that are encoded once.
type repeated[T comparable] struct {
	at   map[T]uint64
	read []T
}

func newPacker(spans int) *packer {
	return &packer{
		buf:       make([]byte, 0, 128*spans),
		known:     map[string]uint64{},
		resources: repeated[*Resource]{at: map[*Resource]uint64{}},
		objects:   repeated[object.Ref]{at: map[object.Ref]uint64{}},
		ids:       make(map[trace.SpanID]uint64, spans),
	}
}

func (p *packer) fail() { p.err = errPacked; p.buf = nil }

// take returns the next n bytes of the input, or nil if there are fewer.
func (p *packer) take(n uint64) []byte {
	if n > uint64(len(p.buf)) {
		p.fail()
		return nil
	}
	out := p.buf[:n]
	p.buf = p.buf[n:]
	return out
}

func (p *packer) byte(v byte) byte {
	if !p.reading {
		p.buf = append(p.buf, v)
		return v
	}
	if b := p.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (p *packer) uint(v *uint64) {
	if !p.reading {
		n := *v
		for ; n >= 0x80; n >>= 7 {
			p.buf = append(p.buf, byte(n)|0x80)
		}
		p.buf = append(p.buf, byte(n))
		return
	}
	*v = 0
	for shift := 0; shift < 64; shift += 7 {
		b := p.byte(0)
		*v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return
		}
	}
	p.fail()
}

func (p *packer) int(v *int64) {
	u := uint64(*v)<<1 ^ uint64(*v>>63) //nolint:gosec // zigzag: small numbers of either sign are short
	p.uint(&u)
	if p.reading { // others may read the value that is packed
		*v = int64(u>>1) ^ -int64(u&1)
	}
}

// len encodes the length of a list. Each item takes at least one byte, which bounds a decoded
// length.
func (p *packer) len(n *int) {
	u := uint64(*n) //nolint:gosec // it is a length
	p.uint(&u)
	if p.reading && u > uint64(len(p.buf)) {
		p.fail()
		u = 0
	}
	*n = int(u)
}

func (p *packer) bytes(b []byte) {
	if !p.reading {
		p.buf = append(p.buf, b...)
		return
	}
	copy(b, p.take(uint64(len(b))))
}

// text encodes a string: the position of an earlier copy, or 0 and the string itself. Invalid UTF-8
// becomes valid.
func (p *packer) text(v *string) {
	if !p.reading {
		s := *v
		at, known := p.known[s]
		p.uint(&at)
		if known {
			return
		}
		p.known[s] = uint64(len(p.known)) + 1
		s = valid(s)
		n := len(s)
		p.len(&n)
		p.buf = append(p.buf, s...)
		return
	}
	var at uint64
	p.uint(&at)
	switch {
	case at == 0:
		var n int
		p.len(&n)
		*v = string(p.take(uint64(n))) //nolint:gosec // it is a length
		p.texts = append(p.texts, *v)
	case at <= uint64(len(p.texts)):
		*v = p.texts[at-1]
	default:
		p.fail()
	}
}

func (p *packer) events(s *Span) {
	n := len(s.Events)
	p.len(&n)
	if p.reading && n > 0 {
		s.Events = make([]Event, n)
	}
	for i := range s.Events {
		e := &s.Events[i]
		var since int64 // if not negative, increased by one; 0 if the event has no time
		if !p.reading && !e.Time.IsZero() {
			if since = e.Time.UnixNano() - p.last; since >= 0 {
				since++
			}
		}
		p.int(&since)
		if p.reading && since != 0 {
			e.Time = time.Unix(0, p.last+min(since, max(since-1, 0))).UTC()
		}
		p.text(&e.Name)
		p.attributes(&e.Attributes)
	}
}

func (p *packer) links(s *Span) {
	n := len(s.Links)
	p.len(&n)
	if p.reading && n > 0 {
		s.Links = make([]Link, n)
	}
	for i := range s.Links {
		l := &s.Links[i]
		p.bytes(l.TraceID[:])
		p.bytes(l.SpanID[:])
		attrs := l.AllAttributes()
		p.attributes(&attrs)
		if p.reading {
			*l = NewLink(l.TraceID, l.SpanID, attrs)
		}
	}
}

// once encodes a value that many spans share: 0 for the zero value, the position of an earlier copy,
// or the next position and the value itself.
func once[T comparable](p *packer, of *repeated[T], v *T, value func(*T)) {
	var zero T
	next := uint64(max(len(of.at), len(of.read))) + 1
	at := next
	if !p.reading {
		if earlier, known := of.at[*v]; known {
			at = earlier
		} else if *v == zero {
			at = 0
		}
	}
	p.uint(&at)
	switch {
	case at > next:
		p.fail()
	case at == 0:
	case at < next && p.reading:
		*v = of.read[at-1]
	case at == next && p.reading:
		value(v)
		of.read = append(of.read, *v)
	case at == next:
		of.at[*v] = at
		value(v)
	}
}

// resource encodes each resource once, even if many spans share it.
func (p *packer) resource(v **Resource) {
	once(p, &p.resources, v, func(r **Resource) {
		if p.reading {
			*r = &Resource{}
		}
		p.text(&(*r).SchemaURL)
		p.attributes(&(*r).Attributes)
	})
}

func (p *packer) attributes(v *[]attribute.KeyValue) {
	n := len(*v)
	p.len(&n)
	if p.reading && n > 0 {
		*v = make([]attribute.KeyValue, n)
	}
	for i := range *v {
		kv := (*v)[i]
		key := string(kv.Key)
		p.text(&key)
		kv.Key = attribute.Key(key)
		p.value(&kv.Value)
		if p.reading { // others may read the span that is packed
			(*v)[i] = kv
		}
	}
}

// value may change v, also while packing.
func (p *packer) value(v *attribute.Value) {
	kind := attribute.Type(p.byte(byte(v.Type()))) //nolint:gosec // there are a dozen
	switch kind {
	case attribute.EMPTY:
	case attribute.STRING:
		s := v.AsString()
		p.text(&s)
		*v = attribute.StringValue(s)
	case attribute.BOOL, attribute.INT64:
		n := v.AsInt64()
		p.int(&n)
		if p.reading && kind == attribute.BOOL {
			*v = attribute.BoolValue(n != 0)
		} else if p.reading {
			*v = attribute.Int64Value(n)
		}
	case attribute.FLOAT64:
		n := math.Float64bits(v.AsFloat64())
		p.uint(&n)
		*v = attribute.Float64Value(math.Float64frombits(n))
	default:
		p.nested(v)
	}
}

// nested encodes a list or a map as OTLP does; both are rare.
func (p *packer) nested(v *attribute.Value) {
	var raw []byte
	if !p.reading {
		raw, _ = proto.Marshal(AnyValue(*v, valid)) // valid leaves nothing that cannot be encoded
	}
	n := len(raw)
	p.len(&n)
	if !p.reading {
		p.buf = append(p.buf, raw...)
		return
	}
	var said commonpb.AnyValue
	if proto.Unmarshal(p.take(uint64(n)), &said) != nil {
		p.fail()
	}
	*v = fromValue(&said, 0)
}

// valid returns s as valid UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
