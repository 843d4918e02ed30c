// SPDX-License-Identifier: Apache-2.0

package span

import (
	"fmt"
	"math"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// packTraceForm is the version of PackTrace's format. UnpackTrace reads those since formWithoutFacts.
const packTraceForm, formWithoutFacts = 4, 2

// PackTrace encodes a whole trace in a compact form that only UnpackTrace reads. All fields of its
// spans are kept, open spans included. A time outside 64 bits of nanoseconds around 1970 becomes
// the nearest one inside. It only reads the trace.
func PackTrace(t *Trace) []byte {
	p := packer{
		known: map[string]uint64{}, resources: map[*Resource]uint64{}, buf: make([]byte, 0, 128*len(t.Spans)),
		form: packTraceForm,
	}
	p.byte(p.form)
	p.trace(t)
	return p.buf
}

// UnpackTrace is the inverse of PackTrace, also for traces that the two versions before this one
// packed. It returns an error for other or damaged data.
func UnpackTrace(data []byte) (*Trace, error) {
	p := packer{reading: true, buf: data}
	if p.form = p.byte(0); p.err == nil && (p.form < formWithoutFacts || p.form > packTraceForm) {
		return nil, fmt.Errorf("cannot read a packed trace: it has form %d", p.form)
	}
	t := &Trace{}
	p.trace(t)
	if p.err != nil {
		return nil, fmt.Errorf("cannot read a packed trace: %w", p.err)
	}
	return t, nil
}

func (p *packer) trace(t *Trace) {
	p.bytes(t.ID[:])
	p.text((*string)(&t.Outcome))
	p.text(&t.Reason)
	n := len(t.Spans)
	p.len(&n)
	if !p.reading {
		for _, s := range t.Spans {
			p.whole(s)
		}
		return
	}
	for range n {
		s := &Span{TraceID: t.ID}
		if p.whole(s); p.err != nil {
			return
		}
		t.Spans = append(t.Spans, s)
	}
}

// whole encodes all fields of a span except its trace.
func (p *packer) whole(s *Span) {
	p.bytes(s.ID[:])
	p.parent(s)
	p.text(&s.Name)
	p.text(&s.Service)
	p.object(&s.Object)
	p.time(&s.Start)
	p.time(&s.End)
	p.text((*string)(&s.Outcome))
	p.text((*string)(&s.Evidence))
	status := p.byte(byte(s.Status)) //nolint:gosec // one of three
	if p.reading {
		s.Status = Status(status)
	}
	p.text(&s.Message)
	p.attributes(&s.Attributes)
	p.events(s)
	dropped := uint64(s.DroppedEvents) //nolint:gosec // a count
	p.uint(&dropped)
	if p.reading {
		s.DroppedEvents = int(dropped) //nolint:gosec // as above
	}
	p.links(s)
	p.origin(&s.Origin)
	if p.form > formWithoutFacts {
		p.facts(&s.Facts)
	}
}

func (p *packer) object(o *object.Ref) {
	for _, v := range []*string{&o.Group, &o.Version, &o.Kind.Kind, &o.Namespace, &o.Name, (*string)(&o.UID)} {
		p.text(v)
	}
}

// time encodes a moment relative to the previous one, and its source.
func (p *packer) time(t *Time) {
	p.text((*string)(&t.Source))
	var set byte
	if !t.IsZero() {
		set = 1
	}
	if p.byte(set) == 0 {
		return
	}
	var since int64
	if !p.reading {
		since = clamped(t.Time) - p.last
	}
	p.int(&since)
	p.last += since
	if p.reading {
		t.Time = time.Unix(0, p.last).UTC()
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

func (p *packer) origin(v **Origin) {
	var set byte
	if *v != nil {
		set = 1
	}
	if p.byte(set) == 0 {
		return
	}
	if p.reading {
		*v = &Origin{}
	}
	o := *v
	p.resource(&o.Resource)
	p.text(&o.Scope.Name)
	p.text(&o.Scope.Version)
	p.bytes(o.TraceID[:])
	p.bytes(o.Parent[:])
	kind := uint64(o.Kind) //nolint:gosec // one of six
	p.uint(&kind)
	if p.reading {
		o.Kind = trace.SpanKind(kind) //nolint:gosec // as above
	}
	p.text(&o.TraceState)
}
