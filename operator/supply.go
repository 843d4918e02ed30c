// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"maps"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline"
)

// content is what a write is about: an object as it is sent or as it was.
type content struct {
	annotations map[string]string
	desired     state
	generation  int64
}

// offer makes the context of a write that gives an object a new desired state;
// invalid if there is nothing to hand on. The child says what is written.
type offer func(child lifeline.Child) trace.SpanContext

// supply decides which context an object carries after a write (rule P3): it
// never causes a write that would not have happened, and never changes what a
// write means.
type supply struct {
	convention lifeline.Convention
	gvk        schema.GroupVersionKind
	id         lifeline.Identity
	bag        baggage.Baggage
	offer      offer
	// unsure says that an object that is created may exist already.
	unsure bool
}

// verdict is what supply decided.
type verdict struct {
	// carry is what the object is to carry under the convention's keys; nil for
	// nothing.
	carry map[string]string
	// context is the new context in carry; invalid if it is none of this write.
	context trace.SpanContext
	// digest is that of the desired state as it is sent.
	digest lifeline.Digest
}

// created decides for an object that does not exist yet. above is the context
// that the writer's own object carries: an operator that copies annotations to
// its children has copied it, too.
func (s supply) created(sent content, above trace.SpanContext) verdict {
	v := verdict{digest: sent.desired.digest(), carry: s.own(sent.annotations)}
	if !bearsContext(s.gvk) {
		return v
	}
	if chosen, ok := s.chosen(sent.annotations, above); ok {
		v.carry = chosen
		return v
	}
	child := lifeline.Child{Identity: s.id, Digest: v.digest}
	if !s.unsure {
		child.Generation = 1
	}
	v.make(s, child)
	return v
}

// updated decides for an object that was like before. partial says that sent
// holds only what the writer has an opinion on (server-side apply).
func (s supply) updated(before, sent content, partial bool) verdict {
	v := verdict{digest: sent.desired.digest(), carry: s.own(before.annotations)}
	had := s.context(before.annotations)
	if chosen, ok := s.chosen(sent.annotations, had); ok {
		v.carry = chosen
		return v
	}
	claim, holds := lifeline.ClaimOf(had)
	ours := holds && claim.Names(s.id)
	if had.IsValid() && !ours || !bearsContext(s.gvk) || !s.changes(before, sent, partial) {
		return v
	}
	// Digest and difference both, because a writer may leave out what the API
	// server fills in, every time.
	if ours && claim.Digest == v.digest || !s.says(before, sent) {
		return v
	}
	v.make(s, lifeline.Child{Identity: s.id, Digest: v.digest, Generation: s.next(before, sent), Former: had.SpanID()})
	return v
}

// recalled decides for an object of which only this process's own last write is
// known.
func (s supply) recalled(last written, sent content) verdict {
	v := verdict{digest: sent.desired.digest(), carry: last.carried}
	had := s.context(last.carried)
	if chosen, ok := s.chosen(sent.annotations, had); ok {
		v.carry = chosen
		return v
	}
	if v.digest == last.answered || v.digest == last.sent || !bearsContext(s.gvk) || isDeployment(s.gvk) {
		return v
	}
	claim, holds := lifeline.ClaimOf(had)
	if had.IsValid() && (!holds || !claim.Names(s.id) || claim.Digest == v.digest) {
		return v
	}
	v.make(s, lifeline.Child{Identity: s.id, Digest: v.digest, Former: had.SpanID()})
	return v
}

// chosen returns what the writer itself chose to carry, and whether it did: a
// context that is neither ours nor the one that was there. A claim of ours that
// it has left beside its own context is taken away (P3f).
func (s supply) chosen(annotations map[string]string, had trace.SpanContext) (map[string]string, bool) {
	has := s.context(annotations)
	if !has.IsValid() || sameSpan(has, had) {
		return nil, false
	}
	if _, ours := lifeline.ClaimOf(has); ours {
		return nil, false
	}
	carry, bare := s.own(annotations), lifeline.Unclaimed(has)
	if bare.TraceState().Len() == has.TraceState().Len() {
		return carry, true
	}
	a := lifeline.Annotations(annotations)
	bag := baggage.FromContext(lifeline.Context(context.Background(), &a, s.convention))
	for k := range s.convention.Encode(has, bag) {
		delete(carry, k)
	}
	maps.Copy(carry, s.convention.Encode(bare, bag))
	return carry, true
}

// make puts a new context in the verdict if there is one to be had.
func (v *verdict) make(s supply, child lifeline.Child) {
	if sc := s.offer(child); sc.IsValid() {
		v.context, v.carry = sc, s.convention.Encode(sc, s.bag)
	}
}

// changes reports whether the write changes what a context stands for.
func (s supply) changes(before, sent content, partial bool) bool {
	a, b := sent.desired, before.desired
	if isDeployment(s.gvk) {
		// P3e: on any other update its controller would copy the annotation to
		// the ReplicaSet with a write of its own.
		if paused, _ := b.at("spec", "paused").(bool); paused {
			return false
		}
		return !rolledOut(a).within(rolledOut(b))
	}
	if partial {
		return !a.within(b)
	}
	return !a.equal(b)
}

// says reports whether what is sent says something that was not there, or leaves
// out something that the API server cannot have filled in. What else it leaves
// out comes back, as a rule, and then the write changes nothing.
func (s supply) says(before, sent content) bool {
	if !sent.desired.within(before.desired) {
		return true
	}
	for _, k := range []string{"metadata", "data", "binaryData", "stringData"} {
		if !within(before.desired[k], sent.desired[k]) {
			return true
		}
	}
	return false
}

func isDeployment(gvk schema.GroupVersionKind) bool {
	return gvk.Group == "apps" && gvk.Kind == "Deployment"
}

// rolledOut is the part of a Deployment's state that its controller writes into
// a ReplicaSet.
func rolledOut(s state) state {
	part := state{}
	for _, k := range []string{"template", "minReadySeconds"} {
		if v := s.at("spec", k); v != nil {
			part[k] = v
		}
	}
	return part
}

// next is the generation that the write will give the object, as far as that is
// certain; 0 if it is not.
func (s supply) next(before, sent content) int64 {
	if before.generation == 0 {
		return 0
	}
	for k, v := range sent.desired {
		if k != "metadata" && !within(v, before.desired[k]) {
			return before.generation + 1
		}
	}
	return 0
}

// own returns what annotations hold under the convention's keys; nil if nothing.
func (s supply) own(annotations map[string]string) map[string]string {
	var kept map[string]string
	for k, v := range annotations {
		if s.convention.Owns(k) {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[k] = v
		}
	}
	return kept
}

func (s supply) context(annotations map[string]string) trace.SpanContext {
	a := lifeline.Annotations(annotations)
	return lifeline.Extract(&a, s.convention)
}

// with returns annotations with what is to be carried in place of what is under
// the convention's keys. The map given is not written to; it is returned as it
// is if nothing differs, and if the API server would refuse so much.
func (s supply) with(annotations, carry map[string]string) map[string]string {
	if maps.Equal(s.own(annotations), carry) {
		return annotations
	}
	after := make(map[string]string, len(annotations)+len(carry))
	for k, v := range annotations {
		if !s.convention.Owns(k) {
			after[k] = v
		}
	}
	maps.Copy(after, carry)
	if !fits(after) && fits(annotations) {
		return annotations
	}
	return after
}

// fits reports whether the API server takes so many annotations.
func fits(annotations map[string]string) bool {
	size := 0
	for k, v := range annotations {
		size += len(k) + len(v)
	}
	return size <= validation.TotalAnnotationSizeLimitB
}

// fitsBeside reports whether annotations that are applied fit beside those that
// are there.
func fitsBeside(there, applied map[string]string) bool {
	all := make(map[string]string, len(there)+len(applied))
	maps.Copy(all, there)
	maps.Copy(all, applied)
	return fits(all)
}

// bearsContext reports whether objects of a kind may carry a context: facts and
// bookkeeping have no desired state that it could stand for (P5).
func bearsContext(gvk schema.GroupVersionKind) bool {
	switch gvk.Group + "/" + gvk.Kind {
	case "/Event", "events.k8s.io/Event", "coordination.k8s.io/Lease", "/Endpoints", "discovery.k8s.io/EndpointSlice", "/Binding":
		return false
	}
	return true
}
