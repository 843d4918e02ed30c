// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Cause is one edge from a span to its cause.
type Cause struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID
	// OfTrace and OfSpan are the cause. The store may lack its trace.
	OfTrace trace.TraceID
	OfSpan  trace.SpanID
	// Parent marks the edge to the span's parent; other edges are links.
	Parent bool
	// Evidence is the proof of the edge; empty for a phase, a part of its parent. Reason is the
	// link's own.
	Evidence span.Evidence
	Reason   string
}

// CausesOf returns the edges from s: first to its parent, then its links.
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
		out = append(out, Cause{
			TraceID:  s.TraceID,
			SpanID:   s.ID,
			OfTrace:  l.TraceID,
			OfSpan:   l.SpanID,
			Evidence: l.Evidence,
			Reason:   l.Reason,
		})
	}
	return out
}

// SortCauses sorts the edges of one trace: first those from its own spans, in the order of the
// spans' IDs and in each span its parent first; then those of other traces, in the order of IDs.
func SortCauses(of trace.TraceID, causes []Cause) {
	slices.SortStableFunc(causes, func(a, b Cause) int {
		return cmp.Or(
			cmp.Compare(boolean(a.TraceID != of), boolean(b.TraceID != of)),
			bytes.Compare(a.TraceID[:], b.TraceID[:]),
			bytes.Compare(a.SpanID[:], b.SpanID[:]),
			cmp.Compare(boolean(b.Parent), boolean(a.Parent)),
		)
	})
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
