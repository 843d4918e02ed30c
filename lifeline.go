// SPDX-License-Identifier: Apache-2.0

// Package lifeline carries a trace context on a Kubernetes object: the span
// context of the write that gave the object its present desired state, in
// annotations.
//
// Extract and Inject are the two halves of it; Start and StartLinked begin a
// span from what an object carries, and Derive makes the context for a child.
// What stands on an object is a hint and never authority: a value that is
// missing, malformed, over-long or hostile is treated as absent. Nothing here
// returns an error, panics or blocks.
//
// The package knows nothing of clients, controllers or exporters; an object is
// anything that has annotations. All functions may be called at the same time
// as long as nobody writes to the object's annotations meanwhile.
package lifeline

import (
	"context"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
)

// Annotated is anything that carries annotations: every metav1.Object does.
type Annotated interface {
	GetAnnotations() map[string]string
}

// Object is anything whose annotations can be replaced: every metav1.Object.
type Object interface {
	Annotated
	SetAnnotations(annotations map[string]string)
}

// Extract returns the span context that obj carries, marked remote: by the
// first of the conventions that gives a valid one, or by all of Conventions if
// none is named. Without one the result is invalid (IsValid reports false).
func Extract(obj Annotated, conventions ...Convention) trace.SpanContext {
	sc, _ := Find(obj, conventions...)
	return sc
}

// Find is Extract and tells, beside the span context, whose convention it came
// by.
func Find(obj Annotated, conventions ...Convention) (trace.SpanContext, Convention) {
	annotations := obj.GetAnnotations()
	if len(annotations) == 0 {
		return trace.SpanContext{}, Convention{}
	}
	if len(conventions) == 0 {
		return find(annotations, known[:])
	}
	return find(annotations, conventions)
}

func find(annotations map[string]string, conventions []Convention) (trace.SpanContext, Convention) {
	for i := range conventions {
		c := &conventions[i]
		value, ok := annotations[c.context]
		if !ok {
			continue
		}
		if sc := c.parse(value, annotations); sc.IsValid() {
			return sc, *c
		}
	}
	return trace.SpanContext{}, Convention{}
}

// Context returns ctx with the span context and the baggage that obj carries;
// ctx itself if it carries none. It reads as Extract does.
func Context(ctx context.Context, obj Annotated, conventions ...Convention) context.Context {
	sc, c := Find(obj, conventions...)
	if !sc.IsValid() {
		return ctx
	}
	if b, ok := c.bag(obj.GetAnnotations()); ok {
		ctx = baggage.ContextWithBaggage(ctx, b)
	}
	return trace.ContextWithRemoteSpanContext(ctx, sc)
}

// Inject puts the span context and the baggage of ctx on obj, by the first of
// the conventions or by Default. What stood there by that convention is
// replaced, what ctx does not have is removed; other annotations stay. Without
// a valid span context in ctx the object is left as it is. The map that obj
// held before is not written to: it may be shared with a cache.
func Inject(ctx context.Context, obj Object, conventions ...Convention) {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return
	}
	c := Default
	if len(conventions) > 0 {
		c = conventions[0]
	}
	before := obj.GetAnnotations()
	annotations := make(map[string]string, len(before)+2)
	for k, v := range before {
		if !c.Owns(k) {
			annotations[k] = v
		}
	}
	for k, v := range c.Encode(sc, baggage.FromContext(ctx)) {
		annotations[k] = v
	}
	obj.SetAnnotations(annotations)
}

// Remove takes off obj what the conventions put there, all of Conventions if
// none is named. The map that obj held before is not written to.
func Remove(obj Object, conventions ...Convention) {
	if len(conventions) == 0 {
		conventions = known[:]
	}
	owned := func(key string) bool {
		for i := range conventions {
			if conventions[i].Owns(key) {
				return true
			}
		}
		return false
	}
	before := obj.GetAnnotations()
	after := make(map[string]string, len(before))
	for k, v := range before {
		if !owned(k) {
			after[k] = v
		}
	}
	switch {
	case len(after) == len(before):
	case len(after) == 0:
		obj.SetAnnotations(nil)
	default:
		obj.SetAnnotations(after)
	}
}

// Annotations makes an Object of a bare map, which Inject and Remove replace.
type Annotations map[string]string

// GetAnnotations returns the map.
func (a *Annotations) GetAnnotations() map[string]string { return *a }

// SetAnnotations replaces the map.
func (a *Annotations) SetAnnotations(annotations map[string]string) { *a = annotations }
