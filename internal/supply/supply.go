// SPDX-License-Identifier: Apache-2.0

// Package supply decides which trace context an object carries after a write (rule P3 of
// docs/trace-model.md). Its callers are the operator kit's client and webhook, and Lifeline's own
// webhook.
package supply

import (
	"context"
	"maps"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline"
)

// Content is an object before a write, or the object in the request.
type Content struct {
	Annotations map[string]string
	// Desired is the object's desired state, from State.Desired.
	Desired State
	// Generation is 0 if unknown.
	Generation int64
}

// Offer returns the context for a write with a new desired state. Without a parent, it returns an
// invalid context. child describes the write.
type Offer func(child lifeline.Child) trace.SpanContext

// Rules decides which context an object carries after a write (rule P3). Its decision never causes
// an additional write, and never changes the effect of a write.
type Rules struct {
	Convention lifeline.Convention
	// ID identifies the object.
	ID lifeline.Identity
	// Bag is the baggage for a new context.
	Bag   baggage.Baggage
	Offer Offer
	// Unsure means that a created object may already exist.
	Unsure bool
}

// Verdict is the decision.
type Verdict struct {
	// Carry holds the annotations under the convention's keys after the write; nil means none.
	Carry map[string]string
	// Context is the new context in Carry; invalid if this write gets none.
	Context trace.SpanContext
	// Digest is the digest of the desired state in the request.
	Digest lifeline.Digest
}

// Created decides about an object that does not exist yet. above is the context of the writer's own
// object. An operator that copies annotations to its children copies that context, too.
func (s Rules) Created(sent Content, above trace.SpanContext) Verdict {
	v := Verdict{Digest: sent.Desired.Digest(), Carry: s.Own(sent.Annotations)}
	if !Bears(s.ID) {
		return v
	}
	if chosen, ok := s.Chosen(sent.Annotations, above); ok {
		v.Carry = chosen
		return v
	}
	child := lifeline.Child{Identity: s.ID, Digest: v.Digest}
	if !s.Unsure {
		child.Generation = 1
	}
	v.make(s, child)
	return v
}

// Updated decides about an existing object with the content before. partial means that sent holds
// only the fields of one manager (server-side apply).
func (s Rules) Updated(before, sent Content, partial bool) Verdict {
	v := Verdict{Digest: sent.Desired.Digest(), Carry: s.Own(before.Annotations)}
	had := s.Context(before.Annotations)
	if chosen, ok := s.Chosen(sent.Annotations, had); ok {
		v.Carry = chosen
		return v
	}
	claim, holds := lifeline.ClaimOf(had)
	ours := holds && claim.Names(s.ID)
	if had.IsValid() && !ours || !Bears(s.ID) || !s.changes(before, sent, partial) {
		return v
	}
	// Both checks are necessary: a writer may always omit fields that the API server fills in.
	if ours && claim.Digest == v.Digest || !s.says(before, sent) {
		return v
	}
	v.make(s, lifeline.Child{Identity: s.ID, Digest: v.Digest, Generation: s.Next(before, sent), Former: had.SpanID()})
	return v
}

// Last describes a writer's previous write of an object.
type Last struct {
	// Answered is the digest of the desired state in the response, and Sent that in the request.
	Answered, Sent lifeline.Digest
	// Carried holds the annotations under the convention's keys in the response.
	Carried map[string]string
}

// Recalled decides about an object for which only the writer's own previous write is known.
func (s Rules) Recalled(last Last, sent Content) Verdict {
	v := Verdict{Digest: sent.Desired.Digest(), Carry: last.Carried}
	had := s.Context(last.Carried)
	if chosen, ok := s.Chosen(sent.Annotations, had); ok {
		v.Carry = chosen
		return v
	}
	if v.Digest == last.Answered || v.Digest == last.Sent || !Bears(s.ID) || IsDeployment(s.ID) {
		return v
	}
	claim, holds := lifeline.ClaimOf(had)
	if had.IsValid() && (!holds || !claim.Names(s.ID) || claim.Digest == v.Digest) {
		return v
	}
	v.make(s, lifeline.Child{Identity: s.ID, Digest: v.Digest, Former: had.SpanID()})
	return v
}

// Chosen returns the annotations of a context that the writer chose, and whether it chose one. A
// chosen context differs from had and carries no valid claim of ours. Chosen removes a leftover
// claim of ours from its tracestate (P3f).
func (s Rules) Chosen(annotations map[string]string, had trace.SpanContext) (map[string]string, bool) {
	has := s.Context(annotations)
	if !has.IsValid() || SameSpan(has, had) {
		return nil, false
	}
	if _, ours := lifeline.ClaimOf(has); ours {
		return nil, false
	}
	carry, bare := s.Own(annotations), lifeline.Unclaimed(has)
	if bare.TraceState().Len() == has.TraceState().Len() {
		return carry, true
	}
	a := lifeline.Annotations(annotations)
	bag := baggage.FromContext(lifeline.Context(context.Background(), &a, s.Convention))
	for k := range s.Convention.Encode(has, bag) {
		delete(carry, k)
	}
	maps.Copy(carry, s.Convention.Encode(bare, bag))
	return carry, true
}

// make puts a new context in the verdict, if Offer returns one.
func (v *Verdict) make(s Rules, child lifeline.Child) {
	if sc := s.Offer(child); sc.IsValid() {
		v.Context, v.Carry = sc, s.Convention.Encode(sc, s.Bag)
	}
}

// changes reports whether the write changes the state that a context stands for.
func (s Rules) changes(before, sent Content, partial bool) bool {
	a, b := sent.Desired, before.Desired
	if IsDeployment(s.ID) {
		// P3e: on any other update, the Deployment controller would copy the annotation to the
		// ReplicaSet in an extra write.
		if paused, _ := b.At("spec", "paused").(bool); paused {
			return false
		}
		return !rolledOut(a).Within(rolledOut(b))
	}
	if partial {
		return !a.Within(b)
	}
	return !a.Equal(b)
}

// says reports whether sent adds or changes a value, or removes one that the API server cannot have
// filled in. The API server usually restores other omitted values, and then the write changes
// nothing.
func (s Rules) says(before, sent Content) bool {
	if !sent.Desired.Within(before.Desired) {
		return true
	}
	for _, k := range []string{"metadata", "data", "binaryData", "stringData"} {
		if !within(before.Desired[k], sent.Desired[k]) {
			return true
		}
	}
	return false
}

// Copied reports whether the object's controller copies its own annotations to it, as a Deployment
// does with its ReplicaSets. controller is the controller's kind.
func Copied(group, kind, controller string) bool {
	return group == "apps" && kind == "ReplicaSet" && controller == "Deployment"
}

// IsDeployment reports whether id is a Deployment. Its context changes only when its controller
// writes the ReplicaSet anyway (P3e).
func IsDeployment(id lifeline.Identity) bool {
	return id.Group == "apps" && id.Kind == "Deployment"
}

// Part returns the part of the desired state that the object's context stands for.
func (c Content) Part(of lifeline.Identity) State {
	if IsDeployment(of) {
		return rolledOut(c.Desired)
	}
	return c.Desired
}

// rolledOut returns the part of a Deployment's state that its controller writes to a ReplicaSet.
func rolledOut(s State) State {
	part := State{}
	for _, k := range []string{"template", "minReadySeconds"} {
		if v := s.At("spec", k); v != nil {
			part[k] = v
		}
	}
	return part
}

// Next returns the object's generation after the write, or 0 if it is uncertain.
func (s Rules) Next(before, sent Content) int64 {
	if before.Generation == 0 {
		return 0
	}
	for k, v := range sent.Desired {
		if k != "metadata" && !within(v, before.Desired[k]) {
			return before.Generation + 1
		}
	}
	return 0
}

// Own returns the annotations under the convention's keys; nil if there are none.
func (s Rules) Own(annotations map[string]string) map[string]string {
	var kept map[string]string
	for k, v := range annotations {
		if s.Convention.Owns(k) {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[k] = v
		}
	}
	return kept
}

// Context returns the context in annotations; invalid if there is none.
func (s Rules) Context(annotations map[string]string) trace.SpanContext {
	a := lifeline.Annotations(annotations)
	return lifeline.Extract(&a, s.Convention)
}

// With returns annotations with carry in place of the values under the convention's keys. It does
// not modify the given map. It returns that map if nothing differs, or if the API server would
// refuse the result for its size.
func (s Rules) With(annotations, carry map[string]string) map[string]string {
	if maps.Equal(s.Own(annotations), carry) {
		return annotations
	}
	after := make(map[string]string, len(annotations)+len(carry))
	for k, v := range annotations {
		if !s.Convention.Owns(k) {
			after[k] = v
		}
	}
	maps.Copy(after, carry)
	if !Fits(after) && Fits(annotations) {
		return annotations
	}
	return after
}

// maxAnnotations is the API server's limit for the annotations of an object, keys and values, in
// bytes (TotalAnnotationSizeLimitB of k8s.io/apimachinery).
const maxAnnotations = 256 << 10

// Fits reports whether annotations are within the API server's size limit.
func Fits(annotations map[string]string) bool {
	size := 0
	for k, v := range annotations {
		size += len(k) + len(v)
	}
	return size <= maxAnnotations
}

// FitsBeside reports whether the existing annotations merged with the applied ones fit.
func FitsBeside(there, applied map[string]string) bool {
	all := make(map[string]string, len(there)+len(applied))
	maps.Copy(all, there)
	maps.Copy(all, applied)
	return Fits(all)
}

// Bears reports whether an object may carry a context. Records and bookkeeping objects have no
// desired state for it (P5).
func Bears(id lifeline.Identity) bool {
	switch id.Group + "/" + id.Kind {
	case "/Event",
		"events.k8s.io/Event",
		"coordination.k8s.io/Lease",
		"/Endpoints",
		"discovery.k8s.io/EndpointSlice",
		"/Binding":
		return false
	}
	return true
}

// SameSpan reports whether two contexts have the same trace ID and span ID.
func SameSpan(a, b trace.SpanContext) bool {
	return a.TraceID() == b.TraceID() && a.SpanID() == b.SpanID()
}
