// SPDX-License-Identifier: Apache-2.0

package span

import (
	"fmt"
	"math"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// packForm is the version of the format of PackTrace.
const packForm = 1

// PackTrace encodes a whole trace in a compact form that only UnpackTrace reads: the journal and the
// archive keep it. All fields of its spans are kept, open spans included. Two values are changed:
// invalid UTF-8 becomes valid, and a time outside 64 bits of nanoseconds around 1970 becomes the
// nearest one inside. It only reads the trace.
func PackTrace(t *Trace) []byte {
	p := newPacker(len(t.Spans))
	p.byte(packForm)
	p.whole(t)
	return p.buf
}

// UnpackTrace is the inverse of PackTrace. It returns an error for other or damaged data.
func UnpackTrace(data []byte) (*Trace, error) {
	p := packer{reading: true, buf: data}
	if form := p.byte(0); p.err == nil && form != packForm {
		return nil, fmt.Errorf("cannot read a packed trace: it has form %d", form)
	}
	t := &Trace{}
	p.whole(t)
	if p.err != nil {
		return nil, fmt.Errorf("cannot read a packed trace: %w", p.err)
	}
	return t, nil
}

// Pack encodes spans of several traces, as PackTrace does.
func Pack(spans []*Span) []byte { return PackTrace(&Trace{Spans: spans}) }

// Unpack is the inverse of Pack.
func Unpack(data []byte) ([]*Span, error) {
	t, err := UnpackTrace(data)
	if err != nil {
		return nil, err
	}
	return t.Spans, nil
}

func (p *packer) whole(t *Trace) {
	p.bytes(t.ID[:])
	p.trace = t.ID
	p.text((*string)(&t.Outcome))
	p.text(&t.Reason)
	n := len(t.Spans)
	p.len(&n)
	if !p.reading {
		for _, s := range t.Spans {
			p.span(s)
		}
		return
	}
	t.Spans = make([]*Span, 0, n)
	for range n {
		s := &Span{}
		if p.span(s); p.err != nil {
			return
		}
		t.Spans = append(t.Spans, s)
	}
}

// The flags of a span: its trace is another one than that of the previous span, its parent is remote,
// it has the status error, facts, an origin, or one of the fields of described.
const (
	otherTrace = 1 << iota
	remoteParent
	isError
	hasFacts
	hasOrigin
	isDescribed
)

// span encodes all fields of a span.
func (p *packer) span(s *Span) {
	flags := p.byte(p.flags(s))
	if flags&otherTrace != 0 {
		p.bytes(s.TraceID[:])
		p.trace = s.TraceID
	}
	p.bytes(s.ID[:])
	p.parent(s)
	p.text(&s.Name)
	p.text(&s.Service)
	p.instant(&s.Start.Time)
	p.instant(&s.End.Time)
	if flags&isDescribed != 0 {
		p.described(s)
	}
	p.attributes(&s.Attributes)
	p.events(s)
	p.links(s)
	if p.reading {
		s.TraceID, s.RemoteParent = p.trace, flags&remoteParent != 0
		if flags&isError != 0 {
			s.Status = StatusError
		}
	}
	if flags&hasOrigin != 0 {
		p.foreign(s)
	}
	if flags&hasFacts != 0 {
		p.facts(&s.Facts)
	}
}

// flags returns the flags of a span that is packed.
func (p *packer) flags(s *Span) (out byte) {
	if p.reading {
		return 0
	}
	set := func(flag byte, is bool) {
		if is {
			out |= flag
		}
	}
	set(otherTrace, s.TraceID != p.trace)
	set(remoteParent, s.RemoteParent)
	set(isError, s.Status == StatusError)
	set(hasFacts, s.Facts != nil)
	set(hasOrigin, s.Origin != nil)
	set(isDescribed, s.Object != (object.Ref{}) || s.Start.Source != "" || s.End.Source != "" || s.Outcome != "" ||
		s.Evidence != "" || s.Message != "" || s.DroppedEvents != 0)
	return out
}

// described encodes the fields that most spans of other components lack.
func (p *packer) described(s *Span) {
	p.object(&s.Object)
	for _, text := range []*string{
		(*string)(&s.Start.Source), (*string)(&s.End.Source), (*string)(&s.Outcome), (*string)(&s.Evidence), &s.Message,
	} {
		p.text(text)
	}
	dropped := uint64(s.DroppedEvents) //nolint:gosec // a count
	p.uint(&dropped)
	if p.reading {
		s.DroppedEvents = int(dropped) //nolint:gosec // as above
	}
}

// parent encodes the parent: 0 for none, 1 and the ID, or the distance to it in the order of spans,
// increased by one.
func (p *packer) parent(s *Span) {
	var at uint64
	number := uint64(len(p.spans))
	if !p.reading {
		if earlier, known := p.ids[s.Parent]; known {
			at = number - earlier + 1
		} else if s.Parent.IsValid() {
			at = 1
		}
		p.ids[s.ID] = number
	}
	p.uint(&at)
	switch {
	case at == 1:
		p.bytes(s.Parent[:])
	case at > number+1:
		p.fail()
	case at > 1 && p.reading:
		s.Parent = p.spans[number+1-at]
	}
	p.spans = append(p.spans, s.ID)
}

// object encodes each object once.
func (p *packer) object(v *object.Ref) {
	once(p, &p.objects, v, func(o *object.Ref) {
		for _, text := range []*string{&o.Group, &o.Version, &o.Kind.Kind, &o.Namespace, &o.Name, (*string)(&o.UID)} {
			p.text(text)
		}
	})
}

// time encodes a moment and its source.
func (p *packer) time(t *Time) {
	p.text((*string)(&t.Source))
	p.instant(&t.Time)
}

// instant encodes a moment relative to the previous one.
func (p *packer) instant(t *time.Time) {
	var set byte
	if !t.IsZero() {
		set = 1
	}
	if p.byte(set) == 0 {
		return
	}
	var since int64
	if !p.reading {
		since = clamped(*t) - p.last
	}
	p.int(&since)
	p.last += since
	if p.reading {
		*t = time.Unix(0, p.last).UTC()
	}
}

// clamped returns a time in Unix nanoseconds, the nearest one that 64 bits hold.
func clamped(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// foreign encodes the origin of a span. Most have their own trace or that of the previous origin, and
// their own parent.
func (p *packer) foreign(s *Span) {
	const ownTrace, sameTrace, sameParent = 1, 2, 4
	if p.reading {
		s.Origin = &Origin{}
	}
	o := s.Origin
	var flags byte
	switch o.TraceID {
	case s.TraceID:
		flags |= ownTrace
	case p.origin:
		flags |= sameTrace
	}
	if o.Parent == s.Parent {
		flags |= sameParent
	}
	flags = p.byte(flags)
	switch {
	case flags&ownTrace != 0:
		p.origin = s.TraceID
	case flags&sameTrace == 0:
		p.bytes(o.TraceID[:])
		p.origin = o.TraceID
	}
	if flags&sameParent == 0 {
		p.bytes(o.Parent[:])
	}
	p.resource(&o.Resource)
	p.text(&o.Scope.Name)
	p.text(&o.Scope.Version)
	kind := uint64(o.Kind) //nolint:gosec // one of six
	p.uint(&kind)
	p.text(&o.TraceState)
	if !p.reading {
		return
	}
	o.Kind = trace.SpanKind(kind) //nolint:gosec // as above
	o.TraceID = p.origin
	if flags&sameParent != 0 {
		o.Parent = s.Parent
	}
}
