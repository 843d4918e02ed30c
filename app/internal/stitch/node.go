// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// key identifies a span by its original IDs.
type key struct {
	trace trace.TraceID
	span  trace.SpanID
}

// node is a held span of another component.
type node struct {
	// span is the span as received; it is never changed.
	span *span.Span
	key  key
	// up is the key above the span: its parent, the caller in its only link, or the request that it
	// answers. It is zero for a root.
	up key
	// identity is a further way to join the span. pod is the UID of its Pod. Either may be empty.
	identity identity
	pod      string
	// instance identifies the process that sent the span.
	instance uint64
	home     home
	seen     time.Time
	size     int32
	// kept is the place of a copy; 0 means none (copies.go).
	kept uint64

	// edge is the evidence for up; empty for its parent.
	edge span.Evidence

	weak, dirty, gone bool

	// above is the span of key up, if it is held. first is its first child. next and prev are its
	// siblings, or the spans that wait for the same parent.
	above, first, next, prev *node
	// changes are the changes with a span of the tree. Only the tree's top has them.
	changes []*change

	inGroup, byAge, byIdentity hook
	queue                      *list
}

// home is a span's place in one of our traces.
type home struct {
	// change is nil without a home.
	change *change
	// below is the parent node; nil if the parent is the span at.
	below *node
	at    trace.SpanID
	// evidence is the evidence of the edge; empty for a span that follows its parent.
	evidence span.Evidence
}

// linkObject is the reason, in link mode, of the operator kit's link to the reconciled
// object's context.
const linkObject = "object"

func newNode(s *span.Span, instance uint64, now time.Time) *node {
	n := &node{span: s, key: key{s.TraceID, s.ID}, instance: instance, seen: now, size: size(s)}
	n.up, n.edge = calledBy(s)
	n.identity, n.pod = identify(s)
	n.weak = minor(s)
	return n
}

// calledBy returns the key above s. A server that does not trust its caller starts a root with one
// link, to the caller's context.
func calledBy(s *span.Span) (up key, edge span.Evidence) {
	if s.Parent.IsValid() {
		return key{s.TraceID, s.Parent}, ""
	}
	for _, l := range s.Links {
		if !l.TraceID.IsValid() || !l.SpanID.IsValid() {
			continue
		}
		if kind(s) == trace.SpanKindServer && len(s.Links) == 1 || l.Reason == linkObject {
			return key{l.TraceID, l.SpanID}, span.ByRequest
		}
	}
	return key{}, ""
}

// top returns the root of n's tree, among the held spans.
func (n *node) top() *node {
	for n.above != nil {
		n = n.above
	}
	return n
}

// within reports whether n is other or a descendant of it.
func (n *node) within(other *node) bool {
	for ; n != nil; n = n.above {
		if n == other {
			return true
		}
	}
	return false
}

func kind(s *span.Span) trace.SpanKind {
	if s.Origin == nil {
		return trace.SpanKindUnspecified
	}
	return s.Origin.Kind
}

// text returns the string under k, or an empty string.
func text(attrs []attribute.KeyValue, k attribute.Key) string {
	for i := range attrs {
		if attrs[i].Key == k && attrs[i].Value.Type() == attribute.STRING {
			return attrs[i].Value.AsString()
		}
	}
	return ""
}

// Memory of a held span besides its texts: the node, its index entries and the span; and of an
// attribute, an event and a link.
const (
	costSpan, costAttribute, costEvent, costLink = 1000, 72, 88, 88
)

// size estimates the memory of s.
func size(s *span.Span) int32 {
	n := costSpan + len(s.Name) + len(s.Message) + sizeOf(s.Attributes)
	if s.Origin != nil {
		n += len(s.Origin.TraceState)
	}
	for i := range s.Events {
		n += costEvent + len(s.Events[i].Name) + sizeOf(s.Events[i].Attributes)
	}
	for i := range s.Links {
		n += costLink + len(s.Links[i].Reason) + sizeOf(s.Links[i].Attributes)
	}
	return int32(min(n, 1<<30)) //nolint:gosec // bounded
}

func sizeOf(attrs []attribute.KeyValue) int {
	n := costAttribute * len(attrs)
	for i := range attrs {
		switch v := attrs[i].Value; v.Type() {
		case attribute.STRING:
			n += len(v.AsString())
		case attribute.BOOL, attribute.INT64, attribute.FLOAT64, attribute.EMPTY:
		default: // a list or a map: rare, so the cost is acceptable
			n += 8 * len(v.String())
		}
		n += len(attrs[i].Key)
	}
	return n
}
