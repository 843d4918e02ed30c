// SPDX-License-Identifier: Apache-2.0

package store

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Cause is one edge: a span, and what it happened because of.
type Cause struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID
	// OfTrace and OfSpan are the cause. Its trace may be one that is not
	// stored.
	OfTrace trace.TraceID
	OfSpan  trace.SpanID
	// Parent: the edge leads to the span's parent; otherwise it is a link.
	Parent bool
	// Evidence is how the edge is known; empty for a phase, which is part of
	// its parent. Reason is what the link says of itself.
	Evidence span.Evidence
	Reason   string
}

// CausesOf returns the edges from s: to its parent first, then its links.
func CausesOf(s *span.Span) []Cause {
	out := make([]Cause, 0, 1+len(s.Links))
	if s.Parent.IsValid() {
		out = append(
			out,
			Cause{
				TraceID:  s.TraceID,
				SpanID:   s.ID,
				OfTrace:  s.TraceID,
				OfSpan:   s.Parent,
				Parent:   true,
				Evidence: s.Evidence,
			},
		)
	}
	for _, l := range s.Links {
		said := &span.Span{Attributes: l.Attributes}
		out = append(out, Cause{
			TraceID:  s.TraceID,
			SpanID:   s.ID,
			OfTrace:  l.TraceID,
			OfSpan:   l.SpanID,
			Evidence: span.Evidence(insight.Attribute(said, span.KeyEvidence)),
			Reason:   insight.Attribute(said, span.KeyLink),
		})
	}
	return out
}
