// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/answer"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// usualFound and maxFound bound the spans of one search.
	usualFound, maxFound = 200, 1000
	// maxSteps bounds the spans above one.
	maxSteps = 200
)

// SpanDetail is the answer of /api/v1/traces/{traceID}/spans/{spanID}: all about one span.
type SpanDetail struct {
	AsOf time.Time `json:"asOf"`
	Span TreeSpan  `json:"span"`
	// Way leads from a root of the trace to the span, both included.
	Way []Step `json:"way"`
	// Scheduling says why no node fits the Pod, or which one was chosen and which came second, by the spans of
	// the last attempt. Only a Pod's change, and its phase "schedule", have it. Nodes are changes of nodes that
	// this attempt rejected; only a server has them.
	Scheduling string              `json:"scheduling,omitempty"`
	Nodes      []answer.NodeChange `json:"nodes,omitempty"`
	// Attributes are those of the span, and Resource those of another component's resource.
	Attributes []Attribute `json:"attributes"`
	Resource   []Attribute `json:"resource,omitempty"`
	// Events are in the order of the span. DroppedEvents is the number of further ones.
	Events        []SpanEvent `json:"events,omitempty"`
	DroppedEvents int         `json:"droppedEvents,omitempty"`
	Links         []SpanLink  `json:"links,omitempty"`
	// Writes are the stored writes of the span.
	Writes []Write `json:"writes,omitempty"`
}

// Step is a span on the way from a root. Key is a value of the parameter "expand" of the tree: it opens the
// list with the span.
type Step struct {
	Span TreeSpan `json:"span"`
	Key  string   `json:"key"`
}

// Attribute is a key with a text, a number, a boolean, or a list of these.
type Attribute struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

// SpanEvent is a moment on a span.
type SpanEvent struct {
	Time       time.Time   `json:"time"`
	Name       string      `json:"name"`
	Attributes []Attribute `json:"attributes,omitempty"`
}

// SpanLink is a further cause of a span, or the trace that this one follows.
type SpanLink struct {
	TraceID  string        `json:"traceId"`
	SpanID   string        `json:"spanId"`
	Reason   string        `json:"reason,omitempty"`
	Evidence span.Evidence `json:"evidence,omitempty"`
}

// Found is the answer of /api/v1/traces/{traceID}/find: the spans with a text, in the order of the tree.
// Count counts all of them.
type Found struct {
	AsOf  time.Time  `json:"asOf"`
	Count int        `json:"count"`
	Spans []TreeSpan `json:"spans"`
}

// span answers with one span of a trace.
func (t *traces) span(r *request) (any, error) {
	of, err := t.tidy(r)
	if err != nil {
		return nil, err
	}
	id, err := trace.SpanIDFromHex(strings.ToLower(r.http.PathValue("spanID")))
	if err != nil {
		return nil, problem(http.StatusBadRequest, "%.80q is no span ID: it has 16 hexadecimal digits",
			r.http.PathValue("spanID"))
	}
	detail := detailOf(of, id)
	if detail == nil {
		return nil, problem(http.StatusNotFound, "the trace has no span %s: it may have changed", id)
	}
	if a := answer.Scheduling(of.of.Trace(), of.Span(id)); a != nil {
		suspect(r, a, of.of.Trace().ID)
		detail.Scheduling, detail.Nodes = a.Attempt.Text(), a.Nodes
	}
	return detail, nil
}

// find answers with the spans of a trace that have a text.
func (t *traces) find(r *request) (any, error) {
	p := r.params
	text, limit := p.text("text"), p.limit()
	if err := p.done(); err != nil { // an unknown parameter may be a misspelt text
		return nil, err
	}
	if strings.TrimSpace(text) == "" {
		return nil, problem(http.StatusBadRequest, `parameter "text": it has no words to look for`)
	}
	of, err := t.tidy(r)
	if err != nil {
		return nil, err
	}
	found, count := of.Find(containing(text), min(cmp.Or(limit, usualFound), maxFound))
	out := Found{AsOf: of.asOf.UTC(), Count: count, Spans: make([]TreeSpan, len(found))}
	for i, one := range found {
		out.Spans[i] = treeSpan(one)
	}
	return out, nil
}

// tidy returns the remembered tree of the trace in the path, or a new one.
func (t *traces) tidy(r *request) (*arranged, error) {
	if err := r.params.done(); err != nil {
		return nil, err
	}
	id, err := r.traceID()
	if err != nil {
		return nil, err
	}
	if found, is := t.rememberedTree(r, id); is {
		return found, nil
	}
	return t.arrange(r, id)
}

// containing returns a match of spans with all words of text, in any of the span's texts. Upper and lower case
// are alike.
func containing(text string) func(*span.Span) bool {
	words := strings.Fields(strings.ToLower(text))
	return func(s *span.Span) bool {
		texts := []string{
			s.ID.String(), s.Name, s.Service, string(s.Outcome), s.Message,
			s.Object.Kind.Kind, s.Object.Namespace, s.Object.Name,
		}
		for _, a := range s.Attributes {
			texts = append(texts, a.Value.String())
		}
		for _, e := range s.Events {
			texts = append(texts, e.Name)
			for _, a := range e.Attributes {
				texts = append(texts, a.Value.String())
			}
		}
		all := strings.ToLower(strings.Join(texts, "\n"))
		for _, w := range words {
			if !strings.Contains(all, w) {
				return false
			}
		}
		return true
	}
}

// detailOf returns all about the span with an ID, or nil.
func detailOf(t *arranged, id trace.SpanID) *SpanDetail {
	one := t.Span(id)
	if one == nil {
		return nil
	}
	out := plainDetail(t, one)
	way := t.Way(id)
	for _, step := range way[max(0, len(way)-maxSteps):] {
		out.Way = append(out.Way, Step{treeSpan(step.Span), step.Key.String()})
	}
	return out
}

// plainDetail returns all about a span except for the way to it.
func plainDetail(t *arranged, one *span.Span) *SpanDetail {
	out := &SpanDetail{
		AsOf: t.asOf.UTC(), Span: treeSpan(one), Way: []Step{}, Attributes: attributesOf(one.Attributes),
		DroppedEvents: one.DroppedEvents,
	}
	if one.Origin != nil && one.Origin.Resource != nil {
		out.Resource = attributesOf(one.Origin.Resource.Attributes)
	}
	for _, e := range one.Events {
		out.Events = append(
			out.Events,
			SpanEvent{Time: e.Time.UTC(), Name: object.Bound(e.Name), Attributes: attributesOf(e.Attributes)},
		)
	}
	for i := range one.Links {
		l := &one.Links[i]
		out.Links = append(
			out.Links,
			SpanLink{l.TraceID.String(), l.SpanID.String(), object.Bound(l.Reason), l.Evidence},
		)
	}
	writes := store.WritesOf(one)
	for i := range writes {
		out.Writes = append(out.Writes, writeOf(&writes[i]))
	}
	return out
}

func attributesOf(list []attribute.KeyValue) []Attribute {
	out := make([]Attribute, len(list))
	for i, a := range list {
		value := a.Value.AsInterface()
		if text, is := value.(string); is {
			value = object.Bound(text)
		}
		out[i] = Attribute{object.Bound(string(a.Key)), value}
	}
	return out
}
