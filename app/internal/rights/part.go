// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// part returns a copy of a visible span without what belongs to hidden objects.
func (p *projection) part(s *span.Span) *span.Span {
	one := *s
	one.Links = slices.DeleteFunc(slices.Clone(s.Links), p.hides)
	one.Attributes = slices.DeleteFunc(slices.Clone(s.Attributes), func(kv attribute.KeyValue) bool {
		return kv.Key == span.KeyCriticalPath || p.names(s, kv)
	})
	one.Facts = p.facts(s)
	if p.betrays(s) {
		one.Attributes = slices.DeleteFunc(one.Attributes, func(kv attribute.KeyValue) bool {
			return strings.HasPrefix(string(kv.Key), string(span.KeyReason))
		})
		one.Message = neutral
		if one.Facts != nil && one.Facts.Reason != "" {
			facts := *one.Facts
			facts.Reason, one.Facts = "", &facts
		}
	}
	if p.concealed(s) {
		origin := *s.Origin
		origin.Resource, one.Origin = p.sender(s.Origin.Resource), &origin
	}
	one.Events = slices.DeleteFunc(slices.Clone(s.Events), p.foreign)
	for i := range one.Events {
		e := &one.Events[i]
		e.Attributes = slices.DeleteFunc(slices.Clone(e.Attributes), p.mentioning)
	}
	return &one
}

// foreign reports whether an event is about a hidden object, such as a write of a controller without a span of its own.
func (p *projection) foreign(e span.Event) bool {
	return slices.ContainsFunc(e.Attributes, func(kv attribute.KeyValue) bool {
		return kv.Key == span.KeyUID && p.hidden.uids[kv.Value.AsString()]
	})
}

// mentioning reports whether an attribute has the name of a hidden object.
func (p *projection) mentioning(kv attribute.KeyValue) bool {
	switch kv.Value.Type() { //nolint:exhaustive // numbers name nothing
	case attribute.STRING:
		return p.hidden.in(kv.Value.AsString())
	case attribute.STRINGSLICE:
		return slices.ContainsFunc(kv.Value.AsStringSlice(), p.hidden.in)
	}
	return false
}

// links reports whether s has a link that the user may not see, and attributes whether it has such an attribute.
func (p *projection) links(s *span.Span) bool { return slices.ContainsFunc(s.Links, p.hides) }

func (p *projection) attributes(s *span.Span) bool {
	return p.betrays(s) || p.facts(s) != s.Facts || p.concealed(s) ||
		slices.ContainsFunc(s.Attributes, func(kv attribute.KeyValue) bool { return p.names(s, kv) })
}

// hides reports whether a link leads to a hidden span, or to a trace without a visible one.
func (p *projection) hides(l span.Link) bool {
	if l.TraceID == p.of.ID {
		return p.up[l.SpanID] != nil && p.kept[l.SpanID] == nil
	}
	return l.TraceID != (trace.TraceID{}) && (p.sees.Trace == nil || !p.sees.Trace(l.TraceID))
}

// ofNode are the facts about a Pod that come from its Node.
var ofNode = []attribute.Key{
	span.KeyZone, span.KeyRegion, span.KeyInstanceType, span.KeyRuntime, span.KeyRuntimeVersion, span.KeyKubelet,
	span.KeyNodePool,
}

// names reports whether an attribute of a visible span is about a hidden object.
func (p *projection) names(s *span.Span, kv attribute.KeyValue) bool {
	switch {
	case slices.Contains(ofNode, kv.Key):
		return !kind.Node.Is(s.Object.Kind) && p.outside()
	case ofScheduler(kv.Key):
		return p.outside()
	}
	return mentionKeys[kv.Key] && p.hidesMention(s, kv) || p.mentioning(kv)
}

// hidesMention reports whether the object that an attribute mentions is hidden.
func (p *projection) hidesMention(s *span.Span, kv attribute.KeyValue) bool {
	named := kv.Value.AsString()
	return p.hidden.mentioned[named] || !p.objects[named] && !p.sees.Object(mentioned(s, kv))
}

// betrays reports whether the reason of s blames a hidden object, or a text of s names one of the trace.
func (p *projection) betrays(s *span.Span) bool {
	for _, kv := range s.Attributes {
		if kv.Key == span.KeyReasonObject && p.hidesMention(s, kv) {
			return true
		}
	}
	return p.hidden.in(s.Message) || p.hidden.in(text(s, span.KeyReasonMessage)) ||
		p.hidden.in(text(s, span.KeyReasonNext))
}

// facts returns the facts of s without writes of hidden objects, a hidden workload, and facts of a hidden Node.
func (p *projection) facts(s *span.Span) *span.Facts {
	f := s.Facts
	if f == nil {
		return nil
	}
	hidden := func(w span.Write) bool { return w.Of != nil && !p.sees.Object(*w.Of) }
	zone := f.Pod != nil && f.Pod.Zone != "" && p.outside()
	workload := p.hidden.mentioned[strings.Replace(f.Workload, "/", " ", 1)]
	if !zone && !workload && !slices.ContainsFunc(f.Writes, hidden) {
		return f
	}
	out := *f
	if workload {
		out.Workload = ""
	}
	out.Writes = slices.DeleteFunc(slices.Clone(f.Writes), hidden)
	if zone {
		pod := *f.Pod
		pod.Zone, out.Pod = "", &pod
	}
	return &out
}
