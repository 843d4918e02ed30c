// SPDX-License-Identifier: Apache-2.0

// Package supply decides which trace context an object carries after a write (rule
// P3 of docs/trace-model.md), for whoever writes it or admits that: the operator
// kit's client and webhook, and Lifeline's own webhook.
package supply

import (
	"context"
	"maps"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline"
)

// Content is what a write is about: an object as it is sent or as it was.
type Content struct {
	Annotations map[string]string
	// Desired is State.Desired of it.
	Desired State
	// Generation is 0 if not known.
	Generation int64
}

// Offer makes the context of a write that gives an object a new desired state;
// invalid if there is nothing to hand on. The child says what is written.
type Offer func(child lifeline.Child) trace.SpanContext

// Rules decides which context an object carries after a write (rule P3): it
// never causes a write that would not have happened, and never changes what a
// write means.
type Rules struct {
	Convention lifeline.Convention
	// ID is the object's.
	ID lifeline.Identity
	// Bag is the baggage that goes with a new context.
	Bag   baggage.Baggage
	Offer Offer
	// Unsure says that an object that is created may exist already.
	Unsure bool
}

// Verdict is what was decided.
type Verdict struct {
	// Carry is what the object is to carry under the convention's keys; nil for
	// nothing.
	Carry map[string]string
	// Context is the new context in Carry; invalid if it is none of this write.
	Context trace.SpanContext
	// Digest is that of the desired state as it is sent.
	Digest lifeline.Digest
}

// Created decides for an object that does not exist yet. above is the context
// that the writer's own object carries: an operator that copies annotations to
// its children has copied it, too.
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

// Updated decides for an object that was like before. partial says that sent
// holds only what the writer has an opinion on (server-side apply).
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
	// Digest and difference both, because a writer may leave out what the API
	// server fills in, every time.
	if ours && claim.Digest == v.Digest || !s.says(before, sent) {
		return v
	}
	v.make(s, lifeline.Child{Identity: s.ID, Digest: v.Digest, Generation: s.Next(before, sent), Former: had.SpanID()})
	return v
}

// Last is what a writer remembers of its own last write of an object.
type Last struct {
	// Answered and Sent are of the desired state in the answer, and as it was sent.
	Answered, Sent lifeline.Digest
	// Carried is what the answer carried under the convention's keys.
	Carried map[string]string
}

// Recalled decides for an object of which only the writer's own last write is
// known.
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

// Chosen returns what the writer itself chose to carry, and whether it did: a
// context that is neither ours nor the one that was there. A claim of ours that
// it has left beside its own context is taken away (P3f).
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

// make puts a new context in the verdict if there is one to be had.
func (v *Verdict) make(s Rules, child lifeline.Child) {
	if sc := s.Offer(child); sc.IsValid() {
		v.Context, v.Carry = sc, s.Convention.Encode(sc, s.Bag)
	}
}

// changes reports whether the write changes what a context stands for.
func (s Rules) changes(before, sent Content, partial bool) bool {
	a, b := sent.Desired, before.Desired
	if IsDeployment(s.ID) {
		// P3e: on any other update its controller would copy the annotation to
		// the ReplicaSet with a write of its own.
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

// says reports whether what is sent says something that was not there, or leaves
// out something that the API server cannot have filled in. What else it leaves
// out comes back, as a rule, and then the write changes nothing.
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

// Copied reports whether the controller of an object copies its own annotations
// onto it, as a Deployment does with its ReplicaSets. The controller is its kind.
func Copied(group, kind, controller string) bool {
	return group == "apps" && kind == "ReplicaSet" && controller == "Deployment"
}

// IsDeployment reports whether an object is a Deployment, whose context is only
// changed where its controller writes the ReplicaSet anyway (P3e).
func IsDeployment(id lifeline.Identity) bool {
	return id.Group == "apps" && id.Kind == "Deployment"
}

// Part is the desired state that the context of an object stands for.
func (c Content) Part(of lifeline.Identity) State {
	if IsDeployment(of) {
		return rolledOut(c.Desired)
	}
	return c.Desired
}

// rolledOut is the part of a Deployment's state that its controller writes into
// a ReplicaSet.
func rolledOut(s State) State {
	part := State{}
	for _, k := range []string{"template", "minReadySeconds"} {
		if v := s.At("spec", k); v != nil {
			part[k] = v
		}
	}
	return part
}

// Next is the generation that the write will give the object, as far as that is
// certain; 0 if it is not.
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

// Own returns what annotations hold under the convention's keys; nil if nothing.
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

// Context returns the context that annotations hold; invalid if none.
func (s Rules) Context(annotations map[string]string) trace.SpanContext {
	a := lifeline.Annotations(annotations)
	return lifeline.Extract(&a, s.Convention)
}

// With returns annotations with what is to be carried in place of what is under
// the convention's keys. The map given is not written to; it is returned as it
// is if nothing differs, and if the API server would refuse so much.
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

// maxAnnotations is how many bytes of annotations, keys and values, the API server
// takes (TotalAnnotationSizeLimitB of k8s.io/apimachinery).
const maxAnnotations = 256 << 10

// Fits reports whether the API server takes so many annotations.
func Fits(annotations map[string]string) bool {
	size := 0
	for k, v := range annotations {
		size += len(k) + len(v)
	}
	return size <= maxAnnotations
}

// FitsBeside reports whether annotations that are applied fit beside those that
// are there.
func FitsBeside(there, applied map[string]string) bool {
	all := make(map[string]string, len(there)+len(applied))
	maps.Copy(all, there)
	maps.Copy(all, applied)
	return Fits(all)
}

// Bears reports whether objects of a kind may carry a context: facts and
// bookkeeping have no desired state that it could stand for (P5).
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

// SameSpan reports whether two contexts name the same span, whatever else they
// say.
func SameSpan(a, b trace.SpanContext) bool {
	return a.TraceID() == b.TraceID() && a.SpanID() == b.SpanID()
}
