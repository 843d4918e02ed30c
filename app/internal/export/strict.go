// SPDX-License-Identifier: Apache-2.0

package export

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// strict returns spans without text of unknown form in messages. It changes copies. The spans of other components
// are as they arrived: their messages were cleaned then.
func strict(spans []*span.Span) []*span.Span {
	out := spans
	for i, s := range spans {
		if s.Origin != nil {
			continue
		}
		clean := *s
		changed := withhold(&clean.Message)
		clean.Attributes = strictAttributes(s.Attributes, &changed)
		clean.Events = slices.Clone(s.Events)
		for j := range clean.Events {
			e := &clean.Events[j]
			e.Attributes = strictAttributes(e.Attributes, &changed)
		}
		if !changed {
			continue
		}
		if &out[0] == &spans[0] {
			out = slices.Clone(spans)
		}
		out[i] = &clean
	}
	return out
}

func withhold(text *string) (changed bool) {
	clean := message.Strict(*text)
	changed = clean != *text
	*text = clean
	return changed
}

// strictAttributes returns attributes without text of unknown form, and sets changed if there was some.
func strictAttributes(attributes []attribute.KeyValue, changed *bool) []attribute.KeyValue {
	out := attributes
	for i, a := range attributes {
		var value attribute.Value
		switch a.Value.Type() {
		case attribute.STRING:
			text := a.Value.AsString()
			if !withhold(&text) {
				continue
			}
			value = attribute.StringValue(text)
		case attribute.STRINGSLICE:
			texts, some := slices.Clone(a.Value.AsStringSlice()), false
			for j := range texts {
				some = withhold(&texts[j]) || some
			}
			if !some {
				continue
			}
			value = attribute.StringSliceValue(texts)
		default:
			continue
		}
		if &out[0] == &attributes[0] {
			out = slices.Clone(attributes)
		}
		*changed = true
		out[i].Value = value
	}
	return out
}
