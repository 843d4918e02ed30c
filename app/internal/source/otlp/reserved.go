// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// reserved is the prefix of the attribute keys that only Lifeline may set. They hold its
// conclusions: the evidence for an edge, the outcome of a reconciliation, the origin of a joined
// span. Later passes and readers trust them, so they are removed from received spans.
const reserved = "lifeline."

// kitScope is the operator kit's instrumentation scope, and the prefix of its parts' scopes.
const kitScope = span.ScopeName + "/operator"

// kitKeys are the reserved keys that the operator kit may set. They describe its own work. Lifeline
// uses only lifeline.link: it marks a link to an object's context, and a parent could state the
// same. So a sender that copies the kit's scope name can do no harm.
var kitKeys = map[attribute.Key]bool{
	"lifeline.allowed":          true,
	"lifeline.conflict":         true,
	"lifeline.controller":       true,
	"lifeline.link":             true,
	"lifeline.operation":        true,
	"lifeline.queue.adds":       true,
	"lifeline.requeue_after":    true,
	"lifeline.result":           true,
	"lifeline.time.source":      true,
	"lifeline.triggers.dropped": true,
	"lifeline.writes.dropped":   true,
}

// clean removes the attributes that scope may not set from the spans since first. Spans of
// Lifeline's own scope stay as they are and do not count as another component's. Spans that
// Lifeline has joined and exported are removed whole, or each return would join and export them
// again.
func (b *batch) clean(first int, scope string) {
	if scope == span.ScopeName {
		return
	}
	all := len(b.spans)
	b.spans = b.spans[:first+len(slices.DeleteFunc(b.spans[first:], returned))]
	b.cut[cutReturned] += all - len(b.spans)
	kit := scope == kitScope || strings.HasPrefix(scope, kitScope+"/")
	for _, s := range b.spans[first:] {
		b.concealMessages(s)
		s.Attributes = b.allowed(s.Attributes, kit)
		for i := range s.Events {
			s.Events[i].Attributes = b.allowed(s.Events[i].Attributes, kit)
		}
		for i := range s.Links {
			s.Links[i].Attributes = b.allowed(s.Links[i].Attributes, kit)
		}
	}
}

// typeLinks sets the fields of the links that arrived as attributes.
func typeLinks(spans []*span.Span) {
	for _, s := range spans {
		for i, l := range s.Links {
			s.Links[i] = span.NewLink(l.TraceID, l.SpanID, l.Attributes)
		}
	}
}

// returned reports whether Lifeline has exported s as a joined span. Such a span has the attribute
// for its original trace.
func returned(s *span.Span) bool {
	return slices.ContainsFunc(s.Attributes, func(kv attribute.KeyValue) bool { return kv.Key == span.KeyOriginTrace })
}

// allowed returns the attributes without reserved ones. It counts the removed ones and redacts the
// rest.
func (b *batch) allowed(attrs []attribute.KeyValue, kit bool) []attribute.KeyValue {
	left := slices.DeleteFunc(attrs, func(kv attribute.KeyValue) bool {
		return strings.HasPrefix(string(kv.Key), reserved) && !(kit && kitKeys[kv.Key])
	})
	b.cut[cutReserved] += len(attrs) - len(left)
	b.conceal(left)
	if len(left) == 0 {
		return nil
	}
	return left
}
