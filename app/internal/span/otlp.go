// SPDX-License-Identifier: Apache-2.0

package span

import (
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// ScopeName is the instrumentation scope of every span that Lifeline makes.
const ScopeName = "github.com/kube-lifeline/lifeline"

// unknownService is the service name of an unnamed component.
const unknownService = "unknown_service"

// Bits of OTLP's span flags beside the W3C ones: whether the parent is remote
// is known, and whether it is.
const (
	flagKnowsRemote = uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)
	flagRemote      = uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	linkFlags       = flagKnowsRemote | flagRemote
)

// ToOTLP converts the ended spans of traces. It returns one resource per component, sorted by name,
// with the spans in the given order. Spans of other components keep their resource and scope, and
// follow Lifeline's spans of the same component. Open spans are omitted, because OTLP has only
// ended ones; EndOpen ends them. Unless cluster is empty, every span of Lifeline carries it as its
// cluster. The result shares no memory with traces.
func ToOTLP(traces []*Trace, cluster string) []*tracepb.ResourceSpans {
	made := makersOf(traces, cluster)
	out := make([]*tracepb.ResourceSpans, len(made))
	for i, maker := range made {
		out[i] = &tracepb.ResourceSpans{
			Resource: &resourcepb.Resource{Attributes: toKeyValues(maker.attributes)}, SchemaUrl: maker.schema,
			ScopeSpans: make([]*tracepb.ScopeSpans, len(maker.scopes)),
		}
		for j, made := range maker.scopes {
			scope := &tracepb.ScopeSpans{
				Scope:     &commonpb.InstrumentationScope{Name: made.scope.Name, Version: made.scope.Version},
				SchemaUrl: made.schema,
				Spans:     make([]*tracepb.Span, len(made.spans)),
			}
			for k, s := range made.spans {
				scope.Spans[k] = toSpan(s)
			}
			out[i].ScopeSpans[j] = scope
		}
	}
	return out
}

// EndOpen returns traces with every open span ended now and marked unfinished, for formats without
// open spans. It does not change traces or their spans; unchanged spans are shared.
func EndOpen(traces []*Trace, now time.Time) []*Trace {
	out := make([]*Trace, len(traces))
	for i, t := range traces {
		if !slices.ContainsFunc(t.Spans, (*Span).Open) {
			out[i] = t
			continue
		}
		ended := *t
		ended.Spans = make([]*Span, len(t.Spans))
		for j, s := range t.Spans {
			if s.Open() {
				c := *s
				c.End = Time{Time: latest(now, s.Start.Time)}
				c.Outcome = Unfinished
				s = &c
			}
			ended.Spans[j] = s
		}
		out[i] = &ended
	}
	return out
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func toSpan(s *Span) *tracepb.Span {
	out := &tracepb.Span{
		TraceId:           slices.Clone(s.TraceID[:]),
		SpanId:            slices.Clone(s.ID[:]),
		TraceState:        s.traceState(),
		Flags:             s.flags(),
		Name:              text(s.Name),
		Kind:              s.kind(),
		StartTimeUnixNano: nanos(s.Start.Time),
		EndTimeUnixNano:   nanos(latest(s.End.Time, s.Start.Time)),
		Attributes:        toKeyValues(spanAttributes(s, nil)),
		Status:            toStatus(s),
	}
	if s.DroppedEvents > 0 {
		out.DroppedEventsCount = uint32(s.DroppedEvents) //nolint:gosec // a count
	}
	if s.Parent.IsValid() {
		out.ParentSpanId = slices.Clone(s.Parent[:])
	}
	for _, e := range s.Events {
		out.Events = append(out.Events, &tracepb.Span_Event{
			TimeUnixNano: nanos(e.Time),
			Name:         text(e.Name),
			Attributes:   toKeyValues(e.Attributes),
		})
	}
	for _, l := range s.Links {
		out.Links = append(out.Links, &tracepb.Span_Link{
			TraceId:    slices.Clone(l.TraceID[:]),
			SpanId:     slices.Clone(l.SpanID[:]),
			Flags:      linkFlags,
			Attributes: toKeyValues(l.AllAttributes()),
		})
	}
	return out
}

// flags returns OTLP's flags of a span.
func (s *Span) flags() uint32 {
	flags := uint32(trace.FlagsSampled) | flagKnowsRemote
	if s.RemoteParent {
		flags |= flagRemote
	}
	return flags
}

// kind returns OTLP's kind of a span.
func (s *Span) kind() tracepb.Span_SpanKind {
	switch {
	case s.Origin != nil:
		return tracepb.Span_SpanKind(s.Origin.Kind) //nolint:gosec // the same five numbers
	case s.IsWrite():
		return tracepb.Span_SPAN_KIND_CLIENT
	default:
		return tracepb.Span_SPAN_KIND_INTERNAL
	}
}

func (s *Span) traceState() string {
	if s.Origin == nil {
		return ""
	}
	return s.Origin.TraceState
}

func toStatus(s *Span) *tracepb.Status {
	if s.Status != StatusError {
		return nil
	}
	return &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: text(s.Message)}
}

// nanos converts a time to OTLP. It returns 0, unknown, for a time that OTLP cannot represent.
func nanos(t time.Time) uint64 {
	if t.Unix() <= 0 || t.Year() > 2261 {
		return 0
	}
	return uint64(t.UnixNano())
}

// text makes a string from a cluster fit for OTLP: bounded and valid UTF-8.
func text(s string) string { return strings.ToValidUTF8(Bound(s), "\uFFFD") }

// version returns the version of the running binary.
var version = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
})
