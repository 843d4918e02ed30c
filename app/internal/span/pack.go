// SPDX-License-Identifier: Apache-2.0

package span

import (
	"errors"
	"fmt"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// Pack encodes spans of other components in a compact form that only Unpack reads. It is fast and
// stores each text once, because such spans repeat most texts. Fields of Lifeline's own spans are
// omitted. All spans must have an Origin and must have ended.
func Pack(spans []*Span) []byte {
	p := packer{known: map[string]uint64{}, resources: map[*Resource]uint64{}, buf: make([]byte, 0, 128*len(spans))}
	p.byte(packForm)
	n := len(spans)
	p.len(&n)
	for _, s := range spans {
		p.span(s)
	}
	return p.buf
}

// Unpack is the inverse of Pack. It returns an error for other or damaged data.
func Unpack(data []byte) ([]*Span, error) {
	p := packer{reading: true, buf: data}
	form := p.byte(packForm)
	if p.err == nil && form != packForm {
		return nil, fmt.Errorf("cannot read packed spans: they have form %d", form)
	}
	var n int
	p.len(&n)
	out := make([]*Span, 0, n)
	for range n {
		s := &Span{Origin: &Origin{}}
		p.span(s)
		if p.err != nil {
			return nil, fmt.Errorf("cannot read packed spans: %w", p.err)
		}
		out = append(out, s)
	}
	return out, p.err
}

// packForm is the version of the format.
const packForm = 1

var errPacked = errors.New("the data are damaged")

// packer encodes spans into buf, or decodes them from it. Each method handles both directions, so
// that the order of fields is written once. The first error is kept; later reads return zero
// values.
type packer struct {
	reading bool
	buf     []byte
	err     error
	// known holds the encoded texts by position; texts holds the decoded ones.
	known     map[string]uint64
	texts     []string
	resources map[*Resource]uint64
	read      []*Resource
	// last is the start of the previous span, in nanoseconds.
	last int64
	// form is the version of a packed trace.
	form byte
	// clean is applied to texts before they are encoded; nil leaves them.
	clean func(string) string
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

// text encodes a string: the position of an earlier copy, or 0 and the string itself.
func (p *packer) text(v *string) {
	if !p.reading {
		s := *v
		if p.clean != nil {
			s = p.clean(s)
		}
		at, known := p.known[s]
		p.uint(&at)
		if known {
			return
		}
		p.known[s] = uint64(len(p.known)) + 1
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

func (p *packer) span(s *Span) {
	o := s.Origin
	p.resource(&o.Resource)
	p.text(&o.Scope.Name)
	p.text(&o.Scope.Version)
	p.bytes(s.TraceID[:])
	p.bytes(s.ID[:])
	p.parent(s)
	p.text(&s.Name)
	p.text(&s.Service)
	p.text(&o.TraceState)
	kind := uint64(o.Kind) //nolint:gosec // one of six
	p.uint(&kind)
	p.times(s)
	if status := p.byte(byte(s.Status)); status != 0 { //nolint:gosec // one of three
		s.Status = Status(status)
		p.text(&s.Message)
	}
	p.attributes(&s.Attributes)
	p.events(s)
	p.links(s)
	if p.reading {
		o.TraceID, o.Parent, o.Kind = s.TraceID, s.Parent, trace.SpanKind(kind) //nolint:gosec // as above
	}
}

// parent encodes the parent, and whether it is remote.
func (p *packer) parent(s *Span) {
	var flags byte
	if s.Parent.IsValid() {
		flags = 1
	}
	if s.RemoteParent {
		flags |= 2
	}
	flags = p.byte(flags)
	if flags&1 != 0 {
		p.bytes(s.Parent[:])
	}
	if p.reading {
		s.RemoteParent = flags&2 != 0
	}
}

// times encodes the start, relative to that of the previous span, and the duration.
func (p *packer) times(s *Span) {
	var since, length int64
	if !p.reading {
		since, length = s.Start.UnixNano()-p.last, s.End.Time.UnixNano()-s.Start.UnixNano()
	}
	p.int(&since)
	p.int(&length)
	p.last += since
	if p.reading {
		s.Start.Time, s.End.Time = time.Unix(0, p.last).UTC(), time.Unix(0, p.last+length).UTC()
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

// resource encodes each resource once, even if many spans share it.
func (p *packer) resource(v **Resource) {
	var at uint64
	var known bool
	if !p.reading {
		at, known = p.resources[*v]
	}
	p.uint(&at)
	switch {
	case p.reading && at > uint64(len(p.read)):
		p.fail()
		return
	case p.reading && at > 0:
		*v = p.read[at-1]
		return
	case known:
		return
	case p.reading:
		*v = &Resource{}
		p.read = append(p.read, *v)
	default:
		p.resources[*v] = uint64(len(p.resources)) + 1
		if *v == nil {
			v = new(*Resource)
			*v = &Resource{}
		}
	}
	p.text(&(*v).SchemaURL)
	p.attributes(&(*v).Attributes)
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
	var raw string
	if !p.reading {
		if b, err := proto.Marshal(AnyValue(*v, text)); err == nil { // text leaves nothing that cannot be encoded
			raw = string(b)
		}
	}
	p.text(&raw)
	if p.reading {
		var said commonpb.AnyValue
		if proto.Unmarshal([]byte(raw), &said) != nil {
			p.fail()
		}
		*v = fromValue(&said, 0)
	}
}
