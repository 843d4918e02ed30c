// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Step is a child span of a reconciliation: one step of its object.
type Step struct {
	name    string
	service string
	// key and attempt identify the phase within the object, such as the second run of a container.
	key     string
	attempt int

	start history.Moment
	end   history.Moment // unknown while open
	// precise is the exact length, from an Event; 0 if unknown. The start is then counted back from
	// the end.
	precise time.Duration

	failed  bool
	message string
	attrs   []attribute.KeyValue
	events  []span.Event
}

// Spans appends the spans of the steps under r to out. start is the start of r.
func Spans(out []*span.Span, steps []Step, r *change.Reconciliation, start history.Moment) []*span.Span {
	made := make([]span.Span, len(steps)) // one allocation for all
	for i := range steps {
		steps[i].span(&made[i], r, start)
		out = append(out, &made[i])
	}
	return out
}

// span makes s the span of p under r. It has no evidence, because the object itself shows its
// phases. It starts not before start, the start of the reconciliation, and ends not before its own
// start.
func (p *Step) span(s *span.Span, r *change.Reconciliation, start history.Moment) {
	*s = span.Span{
		TraceID: r.Lineage.ID,
		ID: span.DeriveID(r.Lineage.ID, string(r.Timeline.Ref.UID), "reconcile", r.Verb.String(), r.First().Which(),
			p.name, p.key, strconv.Itoa(p.attempt)),
		Parent:     r.ID(),
		Name:       p.name,
		Service:    p.service,
		Object:     r.Timeline.Ref,
		Start:      p.start.At(),
		Message:    span.Bound(p.message),
		Attributes: p.attrs,
		Events:     p.events,
	}
	if p.end.Known() {
		s.End = p.end.At()
	}
	if p.precise > 0 && p.end.Known() {
		s.Start = span.Time{Time: s.End.Add(-p.precise), Source: span.TimeEvent}
	}
	if p.failed {
		s.Status = span.StatusError
	}
	if p.attempt > 1 {
		s.Attributes = append(s.Attributes, span.KeyAttempt.Int(p.attempt))
	}
	if at := start.At(); s.Start.Before(at.Time) {
		s.Start = at
	}
	if !s.Open() && s.End.Before(s.Start.Time) {
		s.End = s.Start
	}
}
