// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// homes returns the namespaces of spans: those of their objects. A span of another component has no
// object. It goes with the nearest span of Lifeline above it, or else with the trace's root. So a
// member keeps the spans that were joined to its own.
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
			h[at.ID] = top // ends a cycle
			way = append(way, at.ID)
		}
		for _, id := range way {
			h[id] = home
		}
	}
	return h
}

// of returns the namespace of a span of the trace.
func (h homes) of(s *span.Span) string {
	if s.Origin != nil {
		return h[s.ID]
	}
	return s.Object.Namespace
}

// NamespaceOf returns the namespace of s, a late span of t. A span of another component is in its
// parent's namespace.
func NamespaceOf(t *span.Trace, s *span.Span) string {
	if s.Origin == nil {
		return s.Object.Namespace
	}
	all := *t
	all.Spans = append(slices.Clip(t.Spans), s)
	return homesOf(&all).of(s)
}
