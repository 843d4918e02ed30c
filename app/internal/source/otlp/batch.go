// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"slices"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Limits of one span. The first three are the defaults of OpenTelemetry's SDKs.
const (
	maxAttributes = 128 // per span, event, link and resource, and items per list
	maxEvents     = 128
	maxLinks      = 128
	// maxValues limits all values of a span: its attributes, those of its events and links, and the
	// values nested in them.
	maxValues = 1024
	// maxDepth limits the nesting of a value. Deeper values become empty.
	maxDepth = 8
)

// unknownService is the SDKs' name of a service without one. In span.Span it is the empty string.
const unknownService = "unknown_service"

// batch collects the spans of one request during decoding. Both encodings use the same methods, and
// fields may arrive in any order. Only batch applies the bounds and checks.
//
// An encoding begins a resource and a scope, drafts spans, and ends them:
//
//	resource … scope … draft … end, draft … end, endScope … endResource
type batch struct {
	// clock returns the current time, for the check of span times.
	clock func() time.Time
	texts texts
	// memory is the approximate size of the spans in bytes. A request above limit is refused.
	memory, limit int

	spans    []*span.Span
	rejected [rejections]int
	// complaint describes the fault of the first rejected span.
	complaint string
	cut       [cuts]int

	draft    draft
	resource resource
	scope    scope
	// left is the number of values that the current span or resource may still have.
	left int
	// kvs and values are stacks for the attributes and values that are being read. A complete list
	// is copied from them. events and links belong to the draft.
	kvs    []attribute.KeyValue
	values []attribute.Value
	events []span.Event
	links  []span.Link
	// contents caches the content for each attribute key.
	contents map[string]content
}

func newBatch(clock func() time.Time, limit int) *batch {
	b := &batch{clock: clock, limit: limit}
	b.texts.cut = &b.cut[cutText]
	return b
}

// resource is the resource of the spans from index first on.
type resource struct {
	*span.Resource
	first int
	// left is the number of values that the resource may still have.
	left int
}

// scope is the instrumentation scope of the spans from index first on.
type scope struct {
	span.Scope
	first int
}

func (b *batch) beginResource() {
	b.resource = resource{Resource: &span.Resource{}, first: len(b.spans), left: maxValues}
}

// beginPart begins one part of the resource. A resource may have several parts, also between its
// spans. The bounds apply to all parts together. The result is the mark where its attribute list
// begins; it is negative because earlier parts count too.
func (b *batch) beginPart() (mark int) {
	b.kvs, b.left = b.kvs[:0], b.resource.left
	return -len(b.resource.Attributes)
}

func (b *batch) endPart() {
	b.resource.Attributes = b.attributes(b.resource.Attributes, 0)
	b.resource.left = b.left
}

// endResource sets the spans' service. It runs last because the resource may follow its spans.
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

// endScope sets the spans' scope and removes attributes that the scope may not set. It runs last
// because the scope may follow its spans.
func (b *batch) endScope() {
	for _, s := range b.spans[b.scope.first:] {
		s.Origin.Scope = b.scope.Scope
	}
	b.clean(b.scope.first, b.scope.Name)
	typeLinks(b.spans[b.scope.first:])
}

// charge adds bytes, and the texts since the last call, to the memory. It returns errTooMuch above
// the limit.
func (b *batch) charge(bytes int) error {
	b.memory += bytes + b.texts.allocated
	b.texts.allocated = 0
	if b.memory > b.limit {
		return errTooMuch
	}
	return nil
}

// room reports whether a list of n values has room for one more, and counts that value.
func (b *batch) room(n int) bool {
	if n >= maxAttributes || b.left <= 0 {
		b.cut[cutAttribute]++
		return false
	}
	b.left--
	return true
}

// attributes pops the attributes above mark from the stack and returns before with them appended.
func (b *batch) attributes(before []attribute.KeyValue, mark int) []attribute.KeyValue {
	if added := b.kvs[mark:]; len(added) > 0 {
		before = append(slices.Grow(before, len(added)), added...)
		b.memory += len(added) * int(unsafe.Sizeof(attribute.KeyValue{}))
		b.kvs = b.kvs[:mark]
	}
	return before
}

// list pops the values above mark from the stack and returns them as one list value.
func (b *batch) list(mark int) attribute.Value {
	items := b.values[mark:]
	b.values = b.values[:mark]
	b.memory += len(items) * int(unsafe.Sizeof(attribute.Value{}))
	return span.ListValue(items)
}

// table pops the attributes above mark from the stack and returns them as one map value.
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
