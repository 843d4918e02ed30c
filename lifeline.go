// SPDX-License-Identifier: Apache-2.0

// Package lifeline carries a trace context on a Kubernetes object, in its annotations. The context
// is the span context of the write that set the object's current desired state.
//
// Extract reads a context and Inject writes one. Start and StartLinked begin a span from the
// context of an object. Derive returns the context for a child object. The context on an object is
// a hint without authority. A missing, malformed, oversized or hostile value counts as absent. No
// value makes a function return an error, panic or block.
//
// The package does not depend on clients, controllers or exporters. An object is any value with
// annotations. All functions are safe for concurrent use while the object's annotations do not
// change. No function writes to the existing map of an object, because a cache may share it.
package lifeline

import (
	"context"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
)

// Annotated is an object with annotations, such as every metav1.Object.
type Annotated interface {
	GetAnnotations() map[string]string
}

// Object is an object with replaceable annotations, such as every metav1.Object.
type Object interface {
	Annotated
	SetAnnotations(annotations map[string]string)
}

// Extract returns the span context on obj, marked as remote. It tries the given conventions in
// order, or all of Conventions if none is given, and returns the first valid span context. Without
// one, the result is invalid (IsValid returns false).
func Extract(obj Annotated, conventions ...Convention) trace.SpanContext {
	sc, _ := find(obj.GetAnnotations(), conventions)
	return sc
}

// Find is like Extract. It also returns the convention of the span context, or the zero Convention
// if there is no span context.
func Find(obj Annotated, conventions ...Convention) (trace.SpanContext, Convention) {
	sc, c := find(obj.GetAnnotations(), conventions)
	if c == nil {
		return trace.SpanContext{}, Convention{}
	}
	return sc, *c
}

// find returns the first valid span context and its convention. Without one, the convention is nil.
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

// Context returns ctx with the span context and the baggage of obj. The lookup is the same as in
// Extract. Without a span context on obj, it returns ctx unchanged. The baggage comes from the
// convention of the span context. Without baggage there, the baggage of ctx stays.
func Context(ctx context.Context, obj Annotated, conventions ...Convention) context.Context {
	annotations := obj.GetAnnotations()
	sc, c := find(annotations, conventions)
	if c == nil {
		return ctx
	}
	return c.enter(ctx, sc, annotations)
}

// enter returns ctx with sc and with the convention's baggage from annotations.
func (c *Convention) enter(ctx context.Context, sc trace.SpanContext, annotations map[string]string) context.Context {
	if b, ok := c.bag(annotations); ok {
		ctx = baggage.ContextWithBaggage(ctx, b)
	}
	return trace.ContextWithRemoteSpanContext(ctx, sc)
}

// Inject writes the span context and the baggage of ctx to the annotations of obj. It uses the
// first of the conventions, or Default. It replaces the convention's earlier values and removes
// those that ctx lacks. Other annotations stay. They include those of other conventions, which
// Extract may prefer. Without a valid span context in ctx, obj is unchanged. Inject does not write
// to the object's existing map, because a cache may share it.
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

// Remove deletes the annotations of the given conventions from obj, or of all Conventions if none
// is given. If no annotation is left, the annotations become nil. If there was nothing to delete,
// obj is unchanged. Remove does not write to the object's existing map.
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

// Annotations adapts a map to Object. Use a pointer to it: Inject and Remove replace the map behind
// the pointer.
type Annotations map[string]string

// GetAnnotations returns the map.
func (a *Annotations) GetAnnotations() map[string]string { return *a }

// SetAnnotations replaces the map.
func (a *Annotations) SetAnnotations(annotations map[string]string) { *a = annotations }
