// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// reserved begins the keys under which Lifeline itself says what it has found out:
// by what evidence an edge is known, how a reconciliation ended, which span of
// another component this was. It believes what it reads there, and so do people.
// Nobody else may say it: from what is received such attributes are left out.
const reserved = "lifeline."

// kitScope is the operator kit's instrumentation scope, and begins those of its
// parts.
const kitScope = span.ScopeName + "/operator"

// kitKeys are what the operator kit says under reserved keys. They describe its own
// work, and nothing is concluded from them but where a link that names an object's
// context leads, which a parent could say as well: it does no harm that
// anybody can call a scope as the kit's is called.
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

// clean leaves out of the spans since first what their scope may not say. Lifeline's
// own come back as they went out; nobody takes them for another component's. Those
// that it joined and sent come back in its own trace, and would be joined, and sent,
// once more each time: they are left out whole.
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

// returned reports whether s was sent by Lifeline, which says of what it has joined
// in which trace that was made.
func returned(s *span.Span) bool {
	return slices.ContainsFunc(s.Attributes, func(kv attribute.KeyValue) bool { return kv.Key == span.KeyOriginTrace })
}

// allowed returns the attributes without reserved ones, and counts those.
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
