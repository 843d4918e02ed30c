// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"fmt"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

// remoteParent has two bits of a span's flags: the remoteness of the parent is known, and the
// parent is remote.
const remoteParent = uint32(
	tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK | tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK,
)

// draft is a partly read span.
type draft struct {
	span   span.Span
	origin span.Origin
	// start and end are Unix nanoseconds; message is that of the status.
	start, end uint64
	message    string
	// misfit is set if an ID has the wrong length.
	misfit bool
}

// made holds a span and its origin in one allocation.
type made struct {
	span   span.Span
	origin span.Origin
}

func (b *batch) beginSpan() *draft {
	b.draft = draft{}
	b.left = maxValues
	b.kvs, b.events, b.links = b.kvs[:0], b.events[:0], b.links[:0]
	return &b.draft
}

// setID copies an ID; no bytes mean that it is absent.
func (d *draft) setID(to, from []byte) {
	clear(to)
	copy(to, from)
	d.misfit = d.misfit || len(from) != 0 && len(from) != len(to)
}

func (d *draft) setKind(kind int32) {
	if d.origin.Kind = trace.SpanKind(kind); kind < 0 || kind > int32(trace.SpanKindConsumer) {
		d.origin.Kind = trace.SpanKindUnspecified
	}
}

func (d *draft) setStatus(code int32) {
	d.span.Status = span.StatusUnset
	if code == int32(tracepb.Status_STATUS_CODE_ERROR) {
		d.span.Status = span.StatusError
	}
}

func (d *draft) setFlags(flags uint32) { d.span.RemoteParent = flags&remoteParent == remoteParent }

// endSpan checks the draft and adds it to the spans, or counts the rejection.
func (b *batch) endSpan() error {
	d := &b.draft
	if reason, complaint := d.check(b.clock); complaint != "" {
		b.rejected[reason]++
		if b.complaint == "" {
			b.complaint = fmt.Sprintf("span %.64q %s", d.span.Name, complaint)
		}
		return b.charge(0)
	}
	m := &made{span: d.span, origin: d.origin}
	s := &m.span
	s.Attributes = b.attributes(nil, 0)
	s.Events, s.Links = taken(b.events), taken(b.links)
	b.memory += len(b.events)*int(unsafe.Sizeof(span.Event{})) + len(b.links)*int(unsafe.Sizeof(span.Link{}))
	s.Origin = &m.origin
	s.Start.Time, s.End.Time = moment(d.start), moment(d.end)
	s.RemoteParent = s.RemoteParent && s.Parent.IsValid()
	if s.Status == span.StatusError {
		s.Message = d.message
	}
	m.origin.TraceID, m.origin.Parent, m.origin.Resource = s.TraceID, s.Parent, b.resource.Resource
	b.spans = append(b.spans, s)
	return b.charge(int(unsafe.Sizeof(*m)))
}

// taken copies a list whose memory is used again; nil if the list is empty.
func taken[T any](list []T) []T { return append([]T(nil), list...) }

// check describes the fault of the draft; "" means that it is valid.
func (d *draft) check(clock func() time.Time) (rejection, string) {
	switch {
	case d.misfit:
		return rejectedID, "has an ID of the wrong length"
	case !d.span.TraceID.IsValid() || !d.span.ID.IsValid():
		return rejectedID, "has no trace ID or no span ID"
	case d.span.Parent == d.span.ID:
		return rejectedID, "is its own parent"
	case d.end < d.start:
		return rejectedTime, "ends before it starts"
	}
	now := clock()
	if _, ok := timestamp.FromNanos(d.start, now); !ok {
		return rejectedTime, "has a start before 2000, or more than ten minutes from now"
	}
	if _, ok := timestamp.FromNanos(d.end, now); !ok {
		return rejectedTime, "ends more than ten minutes from now"
	}
	return 0, ""
}

// addEvent adds an event with the attributes on the stack above mark. An impossible time becomes
// unknown (zero).
func (b *batch) addEvent(ns uint64, name string, mark int) {
	at, _ := timestamp.FromNanos(ns, b.clock())
	b.events = append(b.events, span.Event{Time: at, Name: name, Attributes: b.attributes(nil, mark)})
}

// roomForEvent reports whether one more event fits. It counts the event as cut if not.
func (b *batch) roomForEvent() bool {
	if len(b.events) >= maxEvents {
		b.cut[cutEvent]++
		return false
	}
	return true
}

// addLink adds a link with the attributes on the stack above mark. A link without valid IDs is
// dropped and counted.
func (b *batch) addLink(l span.Link, misfit bool, mark int) {
	if misfit || !l.TraceID.IsValid() || !l.SpanID.IsValid() {
		b.cut[cutLink]++
		b.kvs = b.kvs[:mark]
		return
	}
	l.Attributes = b.attributes(nil, mark)
	b.links = append(b.links, l)
}

// roomForLink reports whether one more link fits. It counts the link as cut if not.
func (b *batch) roomForLink() bool {
	if len(b.links) >= maxLinks {
		b.cut[cutLink]++
		return false
	}
	return true
}

// moment converts nanoseconds that check has accepted.
func moment(ns uint64) time.Time {
	return time.Unix(0, int64(ns)).UTC() //nolint:gosec // checked
}
