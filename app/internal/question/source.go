// SPDX-License-Identifier: Apache-2.0

package question

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Source has the spans that the data of a lifecycle come from.
type Source struct {
	// Span is the span of the reconciliation. Root is the root of its trace, or nil.
	Span, Root *span.Span
}

// Values returns the values of all fields of data, as Lifecycle.Values has them.
func (s Source) Values() map[string]any {
	var l Lifecycle
	for i := range fields {
		if f := &fields[i]; f.From != nil {
			l.Set(f.Name, clean(f.From(s)))
		}
	}
	return l.Values
}

// none are the facts of a span without any.
var none = &span.Facts{}

func (s Source) facts() *span.Facts { return cmp.Or(s.Span.Facts, none) }

// attributeOf returns an attribute of a span as text, or "". The span may be nil.
func attributeOf(s *span.Span, key attribute.Key) string {
	if s == nil {
		return ""
	}
	for i := range s.Attributes {
		if kv := &s.Attributes[i]; kv.Key == key {
			return kv.Value.String()
		}
	}
	return ""
}

// listOf returns an attribute of a span with texts, or nil.
func listOf(s *span.Span, key attribute.Key) []string {
	for i := range s.Attributes {
		if kv := &s.Attributes[i]; kv.Key == key {
			return kv.Value.AsStringSlice()
		}
	}
	return nil
}

// numberOf returns an attribute of a span with a number, or nil.
func numberOf(s *span.Span, key attribute.Key) any {
	for i := range s.Attributes {
		if kv := &s.Attributes[i]; kv.Key == key && kv.Value.Type() == attribute.INT64 {
			return kv.Value.AsInt64()
		}
	}
	return nil
}

// fromAttribute reads an attribute of the span.
func fromAttribute(key attribute.Key) func(Source) any {
	return func(s Source) any { return attributeOf(s.Span, key) }
}

// ofPod reads data of a Pod. Other objects have none.
func ofPod(of func(s Source, p *span.PodFacts) any) func(Source) any {
	return func(s Source) any {
		if p := s.facts().Pod; p != nil {
			return of(s, p)
		}
		return nil
	}
}

// ofNode reads an attribute about the node of a Pod.
func ofNode(key attribute.Key) func(Source) any {
	return ofPod(func(s Source, _ *span.PodFacts) any { return attributeOf(s.Span, key) })
}

// clean returns a value as Lifecycle.Values has it: with valid texts, sorted lists without repetitions, and times
// in UTC. An empty list or map is nil.
func clean(v any) any {
	switch v := v.(type) {
	case time.Time:
		return within(v).UTC()
	case string:
		return valid(v)
	case []string:
		if len(v) == 0 {
			return nil
		}
		out := make([]string, len(v))
		for i, text := range v {
			out[i] = valid(text)
		}
		slices.Sort(out)
		return slices.Compact(out)
	case map[string]string:
		if len(v) == 0 {
			return nil
		}
		out := make(map[string]string, len(v))
		for key, value := range v {
			out[valid(key)] = valid(value)
		}
		return out
	}
	return v
}

// valid returns a text as an archive keeps it.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
