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

// Options configure a Decider. The zero value works.
type Options struct {
	// Convention names the annotations of contexts. The zero value means lifeline.Default.
	Convention lifeline.Convention
	// Trusts reports whether a user may supply a context; nil means every user.
	Trusts func(User) bool
	// Open returns the context of an object's open reconciliation in a namespace, if there is one.
	// Nil means that none is open. The namespace must be the object's: an ownerReference is
	// untrusted and may hold any UID.
	Open func(namespace string, uid types.UID) (trace.SpanContext, bool)
	// Sample decides whether a trace that begins here is sampled; nil means yes.
	Sample func(trace.TraceID) bool
}

// Answer is the decision about one admitted object.
type Answer struct {
	// Annotations are all annotations of the object after admission; nil leaves the object
	// unchanged.
	Annotations map[string]string
	// Context is the new context of the object; invalid without a new one.
	Context trace.SpanContext
	// Request is the request's context, if that counts (origin), even if the object gets none. It is
	// invalid otherwise.
	Request trace.SpanContext
	// Evidence is the proof of Context's parent: ByRequest or ByOwner. It is empty for a new trace,
	// and without a Context.
	Evidence span.Evidence
	// Beside is the API server's own span of the request, if that is sampled and belongs to another
	// trace than Request. It becomes a link.
	Beside trace.SpanContext
	// Stale is a context of ours on the sent object that belongs to another desired state. Refused
	// is a context that its writer may not supply.
	Stale, Refused trace.SpanContext
}

// Decider makes the decisions. It is not safe for concurrent use.
type Decider struct {
	opts   Options
	recent recent
}

// New returns a Decider without recent admissions.
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

// Decide returns the decision about a request. It never causes an additional write (P3).
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
	// A Deployment's context was decided at its own admission. Its controller would copy a removed
	// one again at each reconcile.
	trusted := d.opts.Trusts(r.User)
	if !trusted && !(a.Copied && r.User.IsControlPlane()) {
		a.Sent.Annotations, answer.Refused = d.withoutForeign(a.Rules, a.Sent.Annotations, a.Before.Annotations)
	}
	if !r.DryRun { // a dry run stores nothing
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
	// An unchanged context of an update may belong to a reconciliation that has ended.
	if carried := a.Context(after); carried.IsValid() && !r.DryRun &&
		!supply.SameSpan(carried, a.Context(a.Before.Annotations)) {
		d.recent.note(a.ID, carried, now)
	}
	return answer
}

// observe decides about a request without an object for a context: a deletion, a scale, an
// eviction. The annotations of a Binding carry the current time to its Pod.
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

// withoutForeign removes a new context of the writer. Its claim does not count, since any writer
// can forge one. A context that this object had before, as in a saved manifest, is not returned as
// refused.
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

// origin is the cause of a write.
type origin struct {
	// parent is the parent of a new context; invalid if a trace begins.
	parent trace.SpanContext
	// begins allows a new trace.
	begins   bool
	evidence span.Evidence
	// request is the context of the request itself. beside is the API server's own span, if the
	// caller sent another context.
	request, beside trace.SpanContext
}

// origin returns the cause of a write: the context of its request, or the open reconciliation of
// its controller owner. The write of a user outside Kubernetes has no known cause and begins a
// trace.
//
// A controller's request for a dependant has the owner as its cause. The API server's own span
// begins with the request, so it is no cause.
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
		if !open && owner.Kind != kind.CronJob.Kind.Kind { // its runs come by the clock
			above, open = d.recent.of(named(owner, r.Namespace), now)
		}
		if open {
			o.parent, o.evidence = above, span.ByOwner
		}
		return o
	case r.User.IsControlPlane():
		return o
	}
	// The header's context may be the API server's own. Then its flags hold only the API server's
	// sampling rate.
	if trusted && r.Trace.IsValid() && r.Trace.IsSampled() {
		o.request, o.parent, o.evidence = r.Trace, r.Trace, span.ByRequest
		return o
	}
	o.begins = true
	return o
}

// named returns the owner's identity at its own admission, before it had a UID.
func named(owner *metav1.OwnerReference, namespace string) lifeline.Identity {
	gv, _ := schema.ParseGroupVersion(owner.APIVersion) // a malformed version gives an empty group
	return lifeline.Identity{Group: gv.Group, Kind: owner.Kind, Namespace: namespace, Name: owner.Name}
}

// mint makes the context of a write. The call is part of the seed: a write may have several calls,
// and two objects without names yet may be equal otherwise.
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
	if err != nil { // impossible for strings and numbers
		return trace.SpanContext{}
	}
	sum := sha256.Sum256(seed)
	sc, basis := from.parent, lifeline.BasisNone
	switch {
	case !sc.IsValid():
		sum[15] |= 1 // an ID of zeros is invalid
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
