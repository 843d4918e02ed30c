// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"time"

	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/internal/supply"
)

// Options say how a Decider decides. The zero value works.
type Options struct {
	// Convention is that by which contexts are put on objects; Default unless set.
	Convention lifeline.Convention
	// Trusts reports whether a user may supply a context; nil means everybody.
	Trusts func(User) bool
	// Open returns the context of the reconciliation of an object in a namespace, if
	// one is known and under way; nil means that none is known. The namespace must
	// be the object's: whoever creates a dependant says what it belongs to, and
	// could name any UID.
	Open func(namespace string, uid types.UID) (trace.SpanContext, bool)
	// Sample decides whether a trace that begins here is sampled; nil means yes.
	Sample func(trace.TraceID) bool
}

// Answer is what is to become of an object that is admitted.
type Answer struct {
	// Annotations are what the object is to carry in all; nil if it stays as it is.
	Annotations map[string]string
	// Context is the one that the object is given; invalid if it is given no new one.
	Context trace.SpanContext
	// Request is the context that the request came with, whether or not the object
	// is given one; invalid if it came with none, or with one that does not count.
	Request trace.SpanContext
	// Evidence says how what Context follows from is known: ByRequest, ByOwner;
	// empty if a trace begins here, and without a Context.
	Evidence span.Evidence
	// Beside is the API server's own span of the request, to be linked: its trace is
	// another than that of Request. Invalid if there is none, or none that is sent.
	Beside trace.SpanContext
	// Stale is a context of ours that came with the object and stands for another
	// desired state; Refused is one that its writer may not supply.
	Stale, Refused trace.SpanContext
}

// Decider decides. It is for one goroutine at a time.
type Decider struct {
	opts   Options
	recent recent
}

// New returns a Decider that has admitted nothing.
func New(o Options) *Decider {
	if o.Convention == (lifeline.Convention{}) {
		o.Convention = lifeline.Default
	}
	if o.Trusts == nil {
		o.Trusts = func(User) bool { return true }
	}
	if o.Open == nil {
		o.Open = func(string, types.UID) (trace.SpanContext, bool) { return trace.SpanContext{}, false }
	}
	if o.Sample == nil {
		o.Sample = func(trace.TraceID) bool { return true }
	}
	return &Decider{opts: o, recent: newRecent()}
}

// Decide says what an object is to carry. It never asks for anything that would
// cause a write that would not have happened (P3).
func (d *Decider) Decide(r *Request, now time.Time) Answer {
	if r.Subresource != "" || len(metadata(r.Object)) == 0 || !r.Create && r.Before == nil {
		return d.observe(r, now)
	}
	var answer Answer
	a := supply.Admission{
		Rules:   supply.Rules{Convention: d.opts.Convention, ID: r.identity(), Offer: supply.Nothing},
		Created: r.Create, Sent: content(r.Object), Now: now,
	}
	if !r.Create {
		a.Before = content(r.Before)
	}
	sent := a.Sent.Annotations
	owner := controller(r.Object)
	a.Controlled = owner != nil
	a.Copied = owner != nil && supply.Copied(r.Kind.Group, r.Kind.Kind, owner.Kind)
	// What a Deployment carries was decided when that was admitted: its controller
	// would copy it again at each look.
	trusted := d.opts.Trusts(r.User)
	if !trusted && !(a.Copied && r.User.IsControlPlane()) {
		a.Sent.Annotations, answer.Refused = d.withoutForeign(a.Rules, a.Sent.Annotations, a.Before.Annotations)
	}
	if !r.DryRun { // nothing is stored, so nothing begins
		from := d.origin(r, owner, trusted, now)
		a.Request = from.request
		answer.Evidence, answer.Beside, answer.Request = from.evidence, from.beside, from.request
		a.Offer = func(c lifeline.Child) trace.SpanContext { return d.mint(r, from, c, now) }
	}
	v, stale, ok := a.Decide()
	after := a.Sent.Annotations
	if ok {
		after = a.With(after, v.Carry)
		answer.Context, answer.Stale = v.Context, stale
	}
	if !v.Context.IsValid() {
		answer.Evidence = ""
	}
	if !maps.Equal(sent, after) {
		answer.Annotations = after
	}
	// What an update leaves as it was may have been reached long ago.
	if carried := a.Context(after); carried.IsValid() && !r.DryRun &&
		!supply.SameSpan(carried, a.Context(a.Before.Annotations)) {
		d.recent.note(a.ID, carried, now)
	}
	return answer
}

// observe is for a request of which no object is given a context: a deletion, a
// scale, an eviction. A Binding takes the time to its Pod, by its annotations.
func (d *Decider) observe(r *Request, now time.Time) Answer {
	var answer Answer
	if r.DryRun {
		return answer
	}
	from := d.origin(r, nil, d.opts.Trusts(r.User), now)
	answer.Request, answer.Beside = from.request, from.beside
	if r.Create && r.Subresource == "binding" && r.Kind.Group == "" && r.Kind.Kind == "Binding" {
		all := annotations(r.Object)
		if _, there := all[object.AnnotationScheduled]; !there {
			answer.Annotations = map[string]string{object.AnnotationScheduled: object.FormatScheduled(now)}
			maps.Copy(answer.Annotations, all)
		}
	}
	return answer
}

// withoutForeign takes away a context that the writer has put there and that is not
// what was there before: whatever its claim says, for anybody can write one. What was
// given to this object before, as in a saved manifest, is not told of as refused.
func (d *Decider) withoutForeign(
	rules supply.Rules,
	sent, before map[string]string,
) (map[string]string, trace.SpanContext) {
	has := rules.Context(sent)
	if !has.IsValid() || supply.SameSpan(has, rules.Context(before)) {
		return sent, trace.SpanContext{}
	}
	refused := has
	if claim, _ := lifeline.ClaimOf(has); lifeline.IsAdmitted(has) && claim.Names(rules.ID) {
		refused = trace.SpanContext{}
	}
	return rules.With(sent, nil), refused
}

// origin is what a write follows from.
type origin struct {
	// parent is the context that a new one is below; invalid if a trace begins.
	parent trace.SpanContext
	// begins says that one may.
	begins   bool
	evidence span.Evidence
	// request is the context that the request itself carried, and beside the API
	// server's own where the caller sent another.
	request, beside trace.SpanContext
}

// origin finds what a write follows from: the context that its request carries,
// the open reconciliation of its controller owner, or, for a write of somebody who
// is no part of Kubernetes, nothing that is known.
//
// A request of a controller for an object's owner follows from the owner. The API
// server's own span is no cause of it: it begins with the request.
func (d *Decider) origin(r *Request, owner *metav1.OwnerReference, trusted bool, now time.Time) origin {
	var o origin
	if trusted && r.Baggage.IsValid() {
		o.request = r.Baggage
		if r.Trace.IsSampled() && r.Trace.TraceID() != r.Baggage.TraceID() {
			o.beside = r.Trace
		}
	}
	switch {
	case o.request.IsValid():
		o.parent, o.evidence = o.request, span.ByRequest
		return o
	case owner != nil:
		above, open := d.opts.Open(r.Namespace, owner.UID)
		if !open && owner.Kind != kind.CronJob.Kind.Kind { // whose runs come by the clock
			above, open = d.recent.of(named(owner, r.Namespace), now)
		}
		if open {
			o.parent, o.evidence = above, span.ByOwner
		}
		return o
	case r.User.IsControlPlane():
		return o
	}
	// The header's context may be the API server's own, which says by its flags
	// only what the API server's rate is.
	if trusted && r.Trace.IsValid() && r.Trace.IsSampled() {
		o.request, o.parent, o.evidence = r.Trace, r.Trace, span.ByRequest
		return o
	}
	o.begins = true
	return o
}

// named is the owner as its own admission knew it: before it had a UID.
func named(owner *metav1.OwnerReference, namespace string) lifeline.Identity {
	gv, _ := schema.ParseGroupVersion(owner.APIVersion) // what is malformed names nothing
	return lifeline.Identity{Group: gv.Group, Kind: owner.Kind, Namespace: namespace, Name: owner.Name}
}

// mint makes the context of a write. It follows from the call, of which a write may
// have several; two objects whose names are not known yet may be alike in all else.
func (d *Decider) mint(r *Request, from origin, child lifeline.Child, now time.Time) trace.SpanContext {
	if !from.parent.IsValid() && !from.begins {
		return trace.SpanContext{}
	}
	seed, err := json.Marshal([]any{
		r.UID,
		from.parent.TraceID().String(),
		from.parent.SpanID().String(),
		uint64(child.Hash()),
		uint64(child.Digest),
		child.Former.String(),
	})
	if err != nil { // texts and numbers always can be
		return trace.SpanContext{}
	}
	sum := sha256.Sum256(seed)
	sc, basis := from.parent, lifeline.BasisNone
	switch {
	case !sc.IsValid():
		sum[15] |= 1 // an ID of zeros is none
		id := trace.TraceID(sum[:16])
		sc = sc.WithTraceID(id).WithTraceFlags(sc.TraceFlags().WithSampled(d.opts.Sample(id)))
	case from.evidence == span.ByOwner:
		basis = lifeline.BasisOwner
	default:
		basis = lifeline.BasisRequest
	}
	return lifeline.Admit(sc.WithRemote(true), lifeline.Claim{
		Parent:     from.parent.SpanID(),
		Object:     child.Hash(),
		Digest:     child.Digest,
		Generation: child.Generation,
		Time:       now,
		Admitted:   basis,
		Nonce:      binary.BigEndian.Uint64(sum[16:24]),
	})
}
