// SPDX-License-Identifier: Apache-2.0

package question

import (
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

func (s Source) facts() *span.Facts {
	if s.Span.Facts == nil {
		return none
	}
	return s.Span.Facts
}

// pod returns the data of a Pod, or nil for other objects.
func (s Source) pod() *span.PodFacts { return s.facts().Pod }

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

// fromAttribute reads an attribute of the span.
func fromAttribute(key attribute.Key) func(Source) string {
	return func(s Source) string { return attributeOf(s.Span, key) }
}

// ofPod reads data of a Pod. Other objects have "".
func ofPod(of func(s Source, p *span.PodFacts) string) func(Source) string {
	return func(s Source) string {
		if p := s.pod(); p != nil {
			return of(s, p)
		}
		return ""
	}
}

// ofNode reads an attribute about the node of a Pod.
func ofNode(key attribute.Key) func(Source) string {
	return ofPod(func(s Source, _ *span.PodFacts) string { return attributeOf(s.Span, key) })
}

// imagesOf returns the images of a Pod's containers.
func imagesOf(s Source) any {
	if p := s.pod(); p != nil {
		return p.Images
	}
	return nil
}

// volumesOf returns the number of volumes of a Pod.
func volumesOf(s Source) any {
	if p := s.pod(); p != nil {
		return p.Volumes
	}
	return nil
}

// labelsOf returns the labels of the object.
func labelsOf(s Source) any {
	all := s.facts().Labels
	if len(all) == 0 {
		return nil
	}
	out := make(map[string]string, len(all))
	for _, label := range all {
		out[label.Key] = label.Value
	}
	return out
}

// clean returns a value as an archive keeps it: valid texts, lists without repetitions, sorted, and times in UTC.
func clean(v any) any {
	switch v := v.(type) {
	case time.Time:
		return within(v).UTC()
	case string:
		return valid(v)
	case []string:
		out := make([]string, len(v))
		for i, text := range v {
			out[i] = valid(text)
		}
		slices.Sort(out)
		return slices.Compact(out)
	case map[string]string:
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
