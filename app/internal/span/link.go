// SPDX-License-Identifier: Apache-2.0

package span

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Link is a further cause, or the trace that this one follows.
type Link struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID
	// Reason says why the link is there, as in Vocabulary. Evidence is its proof. Both are empty for most
	// links of other components.
	Reason   string
	Evidence Evidence
	// Attributes are all others.
	Attributes []attribute.KeyValue
}

// NewLink returns a link with these attributes.
func NewLink(id trace.TraceID, of trace.SpanID, attrs []attribute.KeyValue) Link {
	l := Link{TraceID: id, SpanID: of, Attributes: attrs}
	l.Reason = l.take(KeyLink)
	l.Evidence = Evidence(l.take(KeyEvidence))
	return l
}

// take removes and returns the first text under k.
func (l *Link) take(k attribute.Key) string {
	i := slices.IndexFunc(l.Attributes, func(kv attribute.KeyValue) bool {
		return kv.Key == k && kv.Value.Type() == attribute.STRING && kv.Value.AsString() != ""
	})
	if i < 0 {
		return ""
	}
	text := l.Attributes[i].Value.AsString()
	if len(l.Attributes) == 1 {
		l.Attributes = nil
	} else {
		l.Attributes = slices.Delete(slices.Clone(l.Attributes), i, i+1)
	}
	return text
}

// AllAttributes returns the attributes with the reason and the evidence: the inverse of NewLink, except
// for the order.
func (l *Link) AllAttributes() []attribute.KeyValue {
	if l.Reason == "" && l.Evidence == "" {
		return l.Attributes
	}
	out := make([]attribute.KeyValue, 0, 2+len(l.Attributes))
	if l.Reason != "" {
		out = append(out, KeyLink.String(l.Reason))
	}
	if l.Evidence != "" {
		out = append(out, KeyEvidence.String(string(l.Evidence)))
	}
	return append(out, l.Attributes...)
}
