// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// phase is a child span of a reconciliation: one step of its object's way.
type phase struct {
	name    string
	service string
	// key and attempt name the phase within the object: a container, say.
	key     string
	attempt int

	start moment
	end   moment // unknown while open
	// precise is the exact length, where an Event told it; the start is then
	// counted back from the end.
	precise time.Duration

	failed  bool
	message string
	attrs   []attribute.KeyValue
	events  []span.Event
}

// span makes the span of p under r. It carries no evidence: a phase is part of
// its reconciliation by what the object says. A phase cannot start before the
// reconciliation did, nor end before it starts.
func (p *phase) span(r *reconciliation, start moment) *span.Span {
	s := &span.Span{
		TraceID: r.line.id,
		ID: span.DeriveID(
			r.line.id,
			string(r.t.ref.UID),
			"reconcile",
			string(r.verb),
			r.first().which(),
			p.name,
			p.key,
			strconv.Itoa(p.attempt),
		),
		Parent:     r.id(),
		Name:       p.name,
		Service:    p.service,
		Object:     r.t.ref,
		Start:      p.start.at(),
		Message:    span.Bound(p.message),
		Attributes: p.attrs,
		Events:     p.events,
	}
	if p.end.known() {
		s.End = p.end.at()
	}
	if p.precise > 0 && p.end.known() {
		s.Start = span.Time{Time: s.End.Add(-p.precise), Source: span.TimeEvent}
	}
	if p.failed {
		s.Status = span.StatusError
	}
	if p.attempt > 1 {
		s.Attributes = append(s.Attributes, span.KeyAttempt.Int(p.attempt))
	}
	if at := start.at(); s.Start.Before(at.Time) {
		s.Start = at
	}
	if !s.Open() && s.End.Before(s.Start.Time) {
		s.End = s.Start
	}
	return s
}
