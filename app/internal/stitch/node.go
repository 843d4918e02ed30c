// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// key names a span by the IDs that it came with.
type key struct {
	trace trace.TraceID
	span  trace.SpanID
}

// node is a span of another component that is held.
type node struct {
	// span is as it came; it is never changed.
	span *span.Span
	key  key
	// up names what the span is below: its parent, the caller that its only link
	// leads to, or the request that it answers. It is zero for a root.
	up key
	// identity is what else it can be joined by, and pod the UID of the Pod that
	// it tells of; either may be empty.
	identity identity
	pod      string
	// instance tells apart the processes that spans come from.
	instance uint64
	home     home
	seen     time.Time
	size     int32
	// kept is where a copy is kept; 0 for nowhere (keep.go).
	kept uint64

	// edge is how it is known that up is what the span is below: empty for its
	// parent.
	edge span.Evidence

	weak, dirty, gone bool

	// above is the span that up names, if it is held; first its first child, and
	// next and prev are its siblings, or those that wait for the same parent.
	above, first, next, prev *node
	// changes are those that have a span of the tree, if this is its top.
	changes []*change

	inGroup, byAge, byIdentity hook
	queue                      *list
}

// home is a span's place in one of our traces.
type home struct {
	// change is nil while the span belongs nowhere.
	change *change
	// below is the node that is the parent; nil if it is the span at.
	below *node
	at    trace.SpanID
	// evidence is how the edge is known; empty where a span follows its parent.
	evidence span.Evidence
}

// linkObject is said by a link of the operator kit to the context of the object
// that is reconciled, in link mode.
const linkObject = "object"

func newNode(s *span.Span, instance uint64, now time.Time) *node {
	n := &node{span: s, key: key{s.TraceID, s.ID}, instance: instance, seen: now, size: size(s)}
	n.up, n.edge = calledBy(s)
	n.identity, n.pod = identify(s)
	n.weak = minor(s)
	return n
}

// calledBy is what s is below. A root that a server made for a caller whom it
// does not trust has one link, to the caller's context.
func calledBy(s *span.Span) (up key, edge span.Evidence) {
	if s.Parent.IsValid() {
		return key{s.TraceID, s.Parent}, ""
	}
	for _, l := range s.Links {
		if !l.TraceID.IsValid() || !l.SpanID.IsValid() {
			continue
		}
		if kind(s) == trace.SpanKindServer && len(s.Links) == 1 || text(l.Attributes, span.KeyLink) == linkObject {
			return key{l.TraceID, l.SpanID}, span.ByRequest
		}
	}
	return key{}, ""
}

// top is the root of n's tree, as far as the tree is held.
func (n *node) top() *node {
	for n.above != nil {
		n = n.above
	}
	return n
}

// within reports whether n is below other, or is it.
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

// text is the string that is said under k, or empty.
func text(attrs []attribute.KeyValue, k attribute.Key) string {
	for i := range attrs {
		if attrs[i].Key == k && attrs[i].Value.Type() == attribute.STRING {
			return attrs[i].Value.AsString()
		}
	}
	return ""
}

// What a held span costs beside its texts: the node, its place in the indexes,
// the span; and an attribute, an event, a link.
const (
	costSpan, costAttribute, costEvent, costLink = 1000, 72, 88, 56
)

// size is about what s takes in memory.
func size(s *span.Span) int32 {
	n := costSpan + len(s.Name) + len(s.Message) + sizeOf(s.Attributes)
	if s.Origin != nil {
		n += len(s.Origin.TraceState)
	}
	for i := range s.Events {
		n += costEvent + len(s.Events[i].Name) + sizeOf(s.Events[i].Attributes)
	}
	for i := range s.Links {
		n += costLink + sizeOf(s.Links[i].Attributes)
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
		default: // a list or a map: rare, so it may cost
			n += 8 * len(v.String())
		}
		n += len(attrs[i].Key)
	}
	return n
}
