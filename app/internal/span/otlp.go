// SPDX-License-Identifier: Apache-2.0

package span

import (
	"cmp"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// ScopeName is the instrumentation scope of every span that Lifeline makes.
const ScopeName = "github.com/kube-lifeline/lifeline"

// unknownService stands for a component that nobody named.
const unknownService = "unknown_service"

// Bits of OTLP's span flags beside the W3C ones: whether the parent is remote
// is known, and whether it is.
const (
	flagKnowsRemote = uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)
	flagRemote      = uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
)

// ToOTLP converts the ended spans of traces: one resource per component, in
// order of its name, and below it the spans in the order given. Open spans are
// left out, since OTLP knows only ended ones; EndOpen ends them. Every span
// says that cluster is its cluster, unless cluster is empty. The result shares
// no memory with traces.
func ToOTLP(traces []*Trace, cluster string) []*tracepb.ResourceSpans {
	byService := map[string][]*tracepb.Span{}
	for _, t := range traces {
		for _, s := range t.Spans {
			if s.Open() {
				continue
			}
			service := cmp.Or(text(s.Service), unknownService)
			byService[service] = append(byService[service], toSpan(s))
		}
	}
	out := make([]*tracepb.ResourceSpans, 0, len(byService))
	for _, service := range slices.Sorted(maps.Keys(byService)) {
		out = append(out, &tracepb.ResourceSpans{
			Resource:  resource(service, cluster),
			SchemaUrl: SchemaURL,
			ScopeSpans: []*tracepb.ScopeSpans{{
				Scope:     &commonpb.InstrumentationScope{Name: ScopeName, Version: version()},
				Spans:     byService[service],
				SchemaUrl: SchemaURL,
			}},
		})
	}
	return out
}

// EndOpen returns traces with every open span ended now and marked unfinished,
// for a document that cannot say "still open". Neither traces nor their spans
// are changed; what needs no change is shared.
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

func resource(service, cluster string) *resourcepb.Resource {
	r := &resourcepb.Resource{Attributes: []*commonpb.KeyValue{toKeyValue(attribute.String("service.name", service))}}
	if cluster != "" {
		r.Attributes = append(r.Attributes, toKeyValue(attribute.String("k8s.cluster.uid", cluster)))
	}
	return r
}

func toSpan(s *Span) *tracepb.Span {
	flags := uint32(trace.FlagsSampled) | flagKnowsRemote
	if s.RemoteParent {
		flags |= flagRemote
	}
	out := &tracepb.Span{
		TraceId:           slices.Clone(s.TraceID[:]),
		SpanId:            slices.Clone(s.ID[:]),
		Flags:             flags,
		Name:              text(s.Name),
		Kind:              tracepb.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: nanos(s.Start.Time),
		EndTimeUnixNano:   nanos(latest(s.End.Time, s.Start.Time)),
		Attributes:        toKeyValues(spanAttributes(s)),
		Status:            toStatus(s),
	}
	if s.Parent.IsValid() {
		out.ParentSpanId = slices.Clone(s.Parent[:])
	}
	if s.IsWrite() {
		out.Kind = tracepb.Span_SPAN_KIND_CLIENT
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
			Flags:      flagKnowsRemote | flagRemote,
			Attributes: toKeyValues(l.Attributes),
		})
	}
	return out
}

func toStatus(s *Span) *tracepb.Status {
	if s.Status != StatusError {
		return nil
	}
	return &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: text(s.Message)}
}

// nanos is a time as OTLP writes it; what OTLP cannot write is 0, unknown.
func nanos(t time.Time) uint64 {
	if t.Unix() <= 0 || t.Year() > 2261 {
		return 0
	}
	return uint64(t.UnixNano())
}

// text makes a string that a cluster supplied fit for OTLP: bounded and valid
// UTF-8.
func text(s string) string { return strings.ToValidUTF8(Bound(s), "\uFFFD") }

// version is that of the running binary.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
