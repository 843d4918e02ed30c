// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Trace is one trace of an OTLP document, its spans in order of start after the
// root.
type Trace struct {
	ID    string
	Spans []*Span
}

// Span is one span, as an OTLP backend would see it.
type Span struct {
	ID, Parent, Trace string
	Name, Service     string
	Start, End        time.Time
	Attributes        map[string]string
	Events            []Event
	Links             []Link
	Error             bool
	// Sender and Came are, of a span that a Collector received, from whom and
	// when.
	Sender string
	Came   time.Time
}

// Event is one event of a span.
type Event struct {
	Name       string
	Time       time.Time
	Attributes map[string]string
}

// Link points at a span of another trace.
type Link struct{ Trace, Span, Why string }

// Kind and Object name what the span is about.
func (s *Span) Kind() string { return s.Attributes["k8s.object.kind"] }

// Object is the name of the object.
func (s *Span) Object() string { return s.Attributes["k8s.object.name"] }

// Outcome is how a reconciliation ended.
func (s *Span) Outcome() string { return s.Attributes["lifeline.outcome"] }

// parse reads OTLP JSON documents, one a line; traces in the order in which
// they appear.
func parse(t testing.TB, text string) []*Trace {
	t.Helper()
	var out []*Trace
	for line := range strings.Lines(text) {
		doc, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces([]byte(line))
		if err != nil {
			t.Fatalf("-o json is not one OTLP document a line: %v\n%s", err, text)
		}
		for s := range spans(doc) {
			add(&out, s)
		}
	}
	return ordered(out)
}

// ordered sorts the spans of each trace by time, and puts the run's own trace
// first.
func ordered(out []*Trace) []*Trace {
	for _, tr := range out {
		slices.SortFunc(tr.Spans, func(a, b *Span) int {
			// The root comes first, even if its watch was slower than the watches
			// of its effects.
			return cmp.Or(min(1, len(a.Parent))-min(1, len(b.Parent)), a.Start.Compare(b.Start),
				cmp.Compare(a.ID, b.ID))
		})
	}
	slices.SortStableFunc(out, func(a, b *Trace) int { return b.runs() - a.runs() })
	return out
}

// spans gives every span of a document.
func spans(doc ptrace.Traces) iter.Seq[*Span] {
	return func(yield func(*Span) bool) {
		for _, rs := range doc.ResourceSpans().All() {
			service, _ := rs.Resource().Attributes().Get("service.name")
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					if !yield(convert(s, service.AsString())) {
						return
					}
				}
			}
		}
	}
}

func (t *Trace) runs() int {
	for _, s := range t.Spans {
		if s.Name == "run" {
			return 1
		}
	}
	return 0
}

func add(traces *[]*Trace, s *Span) {
	for _, t := range *traces {
		if t.ID == s.Trace {
			t.Spans = append(t.Spans, s)
			return
		}
	}
	*traces = append(*traces, &Trace{ID: s.Trace, Spans: []*Span{s}})
}

func convert(s ptrace.Span, service string) *Span {
	out := &Span{
		ID: s.SpanID().String(), Parent: s.ParentSpanID().String(), Trace: s.TraceID().String(),
		Name: s.Name(), Service: service, Start: s.StartTimestamp().AsTime(), End: s.EndTimestamp().AsTime(),
		Attributes: attributes(s.Attributes()), Error: s.Status().Code() == ptrace.StatusCodeError,
	}
	for _, e := range s.Events().All() {
		out.Events = append(
			out.Events,
			Event{Name: e.Name(), Time: e.Timestamp().AsTime(), Attributes: attributes(e.Attributes())},
		)
	}
	for _, l := range s.Links().All() {
		out.Links = append(out.Links, Link{
			Trace: l.TraceID().String(),
			Span:  l.SpanID().String(),
			Why:   attributes(l.Attributes())["lifeline.link"],
		})
	}
	return out
}

func attributes(m pcommon.Map) map[string]string {
	out := map[string]string{}
	for k, v := range m.All() {
		out[k] = v.AsString()
	}
	return out
}

// Group sorts spans into their traces, as parse does those of a document.
func Group(all []*Span) []*Trace {
	var out []*Trace
	for _, s := range all {
		add(&out, s)
	}
	return ordered(out)
}

// Roots returns the spans without a parent, the earliest first.
func (t *Trace) Roots() []*Span {
	return slices.DeleteFunc(slices.Clone(t.Spans), func(s *Span) bool { return s.Parent != "" })
}

// Find returns the spans with that name, and object name if not empty.
func (t *Trace) Find(name, object string) []*Span {
	var out []*Span
	for _, s := range t.Spans {
		if s.Name == name && (object == "" || s.Object() == object) {
			out = append(out, s)
		}
	}
	return out
}

// Orphans returns the spans whose parent is not in the trace and which are no
// root.
func (t *Trace) Orphans() []*Span {
	known := map[string]bool{}
	for _, s := range t.Spans {
		known[s.ID] = true
	}
	var out []*Span
	for _, s := range t.Spans {
		if s.Parent != "" && !known[s.Parent] {
			out = append(out, s)
		}
	}
	return out
}

// stored is one write in a trace.
type stored struct {
	uid string
	rv  uint64
}

// writes returns the stored writes of the trace: spans of writes, and events
// named "write".
func (t *Trace) writes() map[stored]bool {
	out := map[stored]bool{}
	put := func(uid, rv string) {
		if n, err := strconv.ParseUint(rv, 10, 64); err == nil && n > 0 {
			out[stored{uid, n}] = true
		}
	}
	for _, s := range t.Spans {
		put(s.Attributes["k8s.object.uid"], s.Attributes["k8s.object.resource_version"])
		for _, e := range s.Events {
			if e.Name != "write" {
				continue
			}
			uid := e.Attributes["k8s.object.uid"]
			if uid == "" {
				uid = s.Attributes["k8s.object.uid"]
			}
			put(uid, e.Attributes["k8s.object.resource_version"])
		}
	}
	return out
}
