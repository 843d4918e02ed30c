// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"slices"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// What a span may have. OpenTelemetry's SDKs have 128 as their default of the
// first three.
const (
	maxAttributes = 128 // of a span, an event, a link, a resource; items of a list
	maxEvents     = 128
	maxLinks      = 128
	// maxValues is how many values a span has in all: attributes, also of its
	// events and links, and what is nested in them.
	maxValues = 1024
	// maxDepth is how deep a value is nested; what is deeper is empty.
	maxDepth = 8
)

// unknownService is what SDKs call a service that nobody named. For span.Span
// that is the empty string.
const unknownService = "unknown_service"

// batch is the spans of one request, as they are decoded. Both encodings tell it
// what they read, in whatever order it comes, through the same methods; the
// bounds and checks are here and nowhere else.
//
// An encoding begins a resource and a scope, drafts spans, and ends them:
//
//	resource … scope … draft … end, draft … end, endScope … endResource
type batch struct {
	// clock tells what times are absurd.
	clock func() time.Time
	texts texts
	// memory is about what the spans take; more than limit is refused.
	memory, limit int

	spans    []*span.Span
	rejected [rejections]int
	// complaint is what is wrong with the first span that was rejected.
	complaint string
	cut       [cuts]int

	draft    draft
	resource resource
	scope    scope
	// left is how many values the span, or the resource, may still have that is
	// being read.
	left int
	// kvs and values are stacks of what is being read; a list is copied when
	// it is complete. events and links are those of the draft.
	kvs    []attribute.KeyValue
	values []attribute.Value
	events []span.Event
	links  []span.Link
	// contents remembers what keys of attributes say of their values.
	contents map[string]content
}

func newBatch(clock func() time.Time, limit int) *batch {
	b := &batch{clock: clock, limit: limit}
	b.texts.cut = &b.cut[cutText]
	return b
}

// resource is what the spans since first share.
type resource struct {
	*span.Resource
	first int
	// left is how many values it may still have.
	left int
}

// scope is what made the spans since first.
type scope struct {
	span.Scope
	first int
}

func (b *batch) beginResource() {
	b.resource = resource{Resource: &span.Resource{}, first: len(b.spans), left: maxValues}
}

// beginPart begins a part of the resource, which may come in several and between
// its spans: the bounds are those of all parts together. The list of its attributes
// begins at mark.
func (b *batch) beginPart() (mark int) {
	b.kvs, b.left = b.kvs[:0], b.resource.left
	return -len(b.resource.Attributes)
}

func (b *batch) endPart() {
	b.resource.Attributes = b.attributes(b.resource.Attributes, 0)
	b.resource.left = b.left
}

// endResource gives the spans their service: the resource may come after them.
func (b *batch) endResource() error {
	b.resource.Attributes = b.allowed(b.resource.Attributes, false)
	var service string
	for _, kv := range b.resource.Attributes {
		if kv.Key == "service.name" && kv.Value.Type() == attribute.STRING && kv.Value.AsString() != unknownService {
			service = kv.Value.AsString()
			break
		}
	}
	for _, s := range b.spans[b.resource.first:] {
		s.Service = service
	}
	return b.charge(int(unsafe.Sizeof(span.Resource{})))
}

func (b *batch) beginScope() { b.scope = scope{first: len(b.spans)} }

// endScope gives the spans their scope, and takes from them what it may not say: the
// scope, too, may come after them.
func (b *batch) endScope() {
	for _, s := range b.spans[b.scope.first:] {
		s.Origin.Scope = b.scope.Scope
	}
	b.clean(b.scope.first, b.scope.Name)
}

// charge counts what was allocated, with the texts since the last call.
func (b *batch) charge(bytes int) error {
	b.memory += bytes + b.texts.allocated
	b.texts.allocated = 0
	if b.memory > b.limit {
		return errTooMuch
	}
	return nil
}

// room reports whether one more value fits, in a list of n, and counts it.
func (b *batch) room(n int) bool {
	if n >= maxAttributes || b.left <= 0 {
		b.cut[cutAttribute]++
		return false
	}
	b.left--
	return true
}

// attributes returns those on the stack above mark, appended to before, and takes
// them off.
func (b *batch) attributes(before []attribute.KeyValue, mark int) []attribute.KeyValue {
	if added := b.kvs[mark:]; len(added) > 0 {
		before = append(slices.Grow(before, len(added)), added...)
		b.memory += len(added) * int(unsafe.Sizeof(attribute.KeyValue{}))
		b.kvs = b.kvs[:mark]
	}
	return before
}

// list returns the values on the stack above mark as one, and takes them off.
func (b *batch) list(mark int) attribute.Value {
	items := b.values[mark:]
	b.values = b.values[:mark]
	b.memory += len(items) * int(unsafe.Sizeof(attribute.Value{}))
	return span.ListValue(items)
}

// table returns the attributes on the stack above mark as one value, and takes
// them off.
func (b *batch) table(mark int) attribute.Value {
	kvs := b.kvs[mark:]
	b.kvs = b.kvs[:mark]
	b.memory += len(kvs) * int(unsafe.Sizeof(attribute.KeyValue{}))
	return attribute.MapValue(kvs...)
}

// tooDeep reports whether a value is nested too deeply, and counts it.
func (b *batch) tooDeep(depth int) bool {
	if depth <= maxDepth {
		return false
	}
	b.cut[cutDeep]++
	return true
}
