// SPDX-License-Identifier: Apache-2.0

// Package lifeline carries a trace context on a Kubernetes object: the span
// context of the write that gave the object its present desired state, in
// annotations.
//
// Extract and Inject are the two halves of it; Start and StartLinked begin a
// span from what an object carries, and Derive makes the context for a child.
// What stands on an object is a hint and never authority: a value that is
// missing, malformed, over-long or hostile is treated as absent: no value makes
// a function here return an error, panic or block.
//
// The package knows nothing of clients, controllers or exporters; an object is
// anything that has annotations. All functions may be called at the same time
// as long as nobody writes to the object's annotations meanwhile, and none
// writes to a map that an object already holds: it may be shared with a cache.
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
	sc, _ := find(obj.GetAnnotations(), conventions)
	return sc
}

// Find is Extract and tells, beside the span context, by which convention it
// was found: the zero Convention if there is none.
func Find(obj Annotated, conventions ...Convention) (trace.SpanContext, Convention) {
	sc, c := find(obj.GetAnnotations(), conventions)
	if c == nil {
		return trace.SpanContext{}, Convention{}
	}
	return sc, *c
}

// find reads by the first convention that gives a valid span context; without
// one, the convention is nil.
func find(annotations map[string]string, conventions []Convention) (trace.SpanContext, *Convention) {
	if len(annotations) == 0 {
		return trace.SpanContext{}, nil
	}
	if len(conventions) == 0 {
		conventions = known[:]
	}
	for i := range conventions {
		c := &conventions[i]
		value, ok := annotations[c.context]
		if !ok || c.context == "" {
			continue
		}
		if sc := c.parse(value, annotations); sc.IsValid() {
			return sc, c
		}
	}
	return trace.SpanContext{}, nil
}

// Context returns ctx with the span context and the baggage that obj carries.
// It reads as Extract does: without a span context ctx is returned as it is,
// and the baggage is that of the convention by which the span context was
// found. If there is none beside it, the baggage of ctx stays.
func Context(ctx context.Context, obj Annotated, conventions ...Convention) context.Context {
	annotations := obj.GetAnnotations()
	sc, c := find(annotations, conventions)
	if c == nil {
		return ctx
	}
	return c.enter(ctx, sc, annotations)
}

// enter returns ctx with what was found by the convention.
func (c *Convention) enter(ctx context.Context, sc trace.SpanContext, annotations map[string]string) context.Context {
	if b, ok := c.bag(annotations); ok {
		ctx = baggage.ContextWithBaggage(ctx, b)
	}
	return trace.ContextWithRemoteSpanContext(ctx, sc)
}

// Inject puts the span context and the baggage of ctx on obj, by the first of
// the conventions or by Default. What stood there by that convention is
// replaced, what ctx does not have is removed; other annotations stay, those of
// other conventions included, which Extract may prefer. Without a valid span
// context in ctx the object is left as it is. The map that obj held before is
// not written to: it may be shared with a cache.
func Inject(ctx context.Context, obj Object, conventions ...Convention) {
	c := &Default
	if len(conventions) > 0 {
		c = &conventions[0]
	}
	sc := trace.SpanContextFromContext(ctx)
	if !c.writes(sc) {
		return
	}
	before := obj.GetAnnotations()
	after := make(map[string]string, len(before)+2)
	for k, v := range before {
		if !c.Owns(k) {
			after[k] = v
		}
	}
	c.write(after, sc, baggage.FromContext(ctx))
	obj.SetAnnotations(after)
}

// Remove takes off obj what the conventions put there, all of Conventions if
// none is named. If nothing is left, the annotations are set to nil; if nothing
// stood there, the object is left as it is. The map that obj held before is not
// written to.
func Remove(obj Object, conventions ...Convention) {
	if len(conventions) == 0 {
		conventions = known[:]
	}
	var after map[string]string
	before := obj.GetAnnotations()
	removed := false
	for k := range before {
		removed = removed || owned(k, conventions)
	}
	if !removed {
		return
	}
	for k, v := range before {
		if owned(k, conventions) {
			continue
		}
		if after == nil {
			after = make(map[string]string, len(before))
		}
		after[k] = v
	}
	obj.SetAnnotations(after)
}

func owned(key string, conventions []Convention) bool {
	for i := range conventions {
		if conventions[i].Owns(key) {
			return true
		}
	}
	return false
}

// Annotations makes an Object of a bare map. A pointer to it is the Object;
// Inject and Remove replace the map that it points to.
type Annotations map[string]string

// GetAnnotations returns the map.
func (a *Annotations) GetAnnotations() map[string]string { return *a }

// SetAnnotations replaces the map.
func (a *Annotations) SetAnnotations(annotations map[string]string) { *a = annotations }
