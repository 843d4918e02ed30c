// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// homes tells in which namespace the spans of a trace are: in that of their object.
// A span that another component made is about none. It goes with the nearest span
// above it that is Lifeline's, and if there is none, with the trace's root: what
// was joined is kept by who keeps what it was joined to.
type homes map[trace.SpanID]string // of spans with an Origin

func homesOf(t *span.Trace) homes {
	if !slices.ContainsFunc(t.Spans, func(s *span.Span) bool { return s.Origin != nil }) {
		return nil
	}
	byID := make(map[trace.SpanID]*span.Span, len(t.Spans))
	for _, s := range t.Spans {
		byID[s.ID] = s
	}
	top := ""
	if root := t.Root(); root != nil {
		top = root.Object.Namespace
	}
	h := homes{}
	var way []trace.SpanID
	for _, s := range t.Spans {
		home := top
		way = way[:0]
		for at := s; at != nil; at = byID[at.Parent] {
			if at.Origin == nil {
				home = at.Object.Namespace
				break
			}
			if known, ok := h[at.ID]; ok {
				home = known
				break
			}
			h[at.ID] = top // where a circle ends
			way = append(way, at.ID)
		}
		for _, id := range way {
			h[id] = home
		}
	}
	return h
}

// of is the namespace of a span of the trace.
func (h homes) of(s *span.Span) string {
	if s.Origin != nil {
		return h[s.ID]
	}
	return s.Object.Namespace
}

// NamespaceOf returns in which namespace s is, a span that is learned late of t. A
// span of another component is where its parent is.
func NamespaceOf(t *span.Trace, s *span.Span) string {
	if s.Origin == nil {
		return s.Object.Namespace
	}
	all := *t
	all.Spans = append(slices.Clip(t.Spans), s)
	return homesOf(&all).of(s)
}
