// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"net/http"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kube-lifeline/lifeline"
)

// baggageKey is the baggage member in which a write's context reaches admission
// even if the API server keeps the traceparent of an ordinary caller to itself.
const baggageKey = "lifeline"

// headers reads what a request carries.
var headers = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// Webhook decorates wh: its work is a span of the trace that the admitted request
// belongs to, and the requests that it makes itself carry that on. With a manager
// that NewManager did not make, it returns wh as it is.
func Webhook(m manager.Manager, wh *admission.Webhook, opts ...WebhookOption) *admission.Webhook {
	if k := kitOf(m); k != nil {
		return k.Webhook(wh, opts...)
	}
	return wh
}

// WebhookOption changes what Webhook makes.
type WebhookOption func(*admitter)

// GivingContexts makes a mutating webhook give a context to each object that
// gets a new desired state and whose writer supplied none (P1, P3). The
// webhook's configuration must send it the creates and updates of the kind.
func GivingContexts() WebhookOption { return func(a *admitter) { a.gives = true } }

// Webhook decorates wh, as the function of that name does.
func (k *Kit) Webhook(wh *admission.Webhook, opts ...WebhookOption) *admission.Webhook {
	a := &admitter{kit: k, inner: wh.Handler}
	for _, o := range opts {
		o(a)
	}
	before := wh.WithContextFunc
	wh.Handler = a
	wh.WithContextFunc = func(ctx context.Context, r *http.Request) context.Context {
		if before != nil {
			ctx = before(ctx, r)
		}
		return withRequest(ctx, r.Header)
	}
	return wh
}

// withRequest returns ctx with the trace context and the baggage that an
// admission request carries.
func withRequest(ctx context.Context, h http.Header) context.Context {
	ctx = headers.Extract(ctx, propagation.HeaderCarrier(h))
	value := baggage.FromContext(ctx).Member(baggageKey).Value()
	if value == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": value})
}

// admitter decorates a handler.
type admitter struct {
	kit   *Kit
	inner admission.Handler
	gives bool
}

// Handle runs the inner handler within a work.
func (a *admitter) Handle(ctx context.Context, req admission.Request) admission.Response {
	k := a.kit
	mode := k.mode()
	if mode == Off || req.DryRun != nil && *req.DryRun {
		return a.inner.Handle(ctx, req)
	}
	gvk := schema.GroupVersionKind{Group: req.Kind.Group, Version: req.Kind.Version, Kind: req.Kind.Kind}
	w := &work{
		kit: k, name: "admission " + bound(req.Kind.Kind), mode: mode, kind: gvk, start: k.clock.Now(), placed: true,
		parent: trace.SpanContextFromContext(ctx), bag: withoutOwn(baggage.FromContext(ctx)),
	}
	w.identify()
	inner := withWork(withTraceLog(ctx, w), w)
	if sc := w.next(); sc.IsValid() {
		inner = trace.ContextWithSpanContext(inner, w.self)
	}
	response := a.inner.Handle(inner, req)
	given := false
	if a.gives && response.Allowed && req.SubResource == "" {
		given = a.give(w, req, &response)
	}
	a.end(w, req, response, given)
	return response
}

// withoutOwn is a baggage without the member that serves as carrier.
func withoutOwn(b baggage.Baggage) baggage.Baggage { return b.DeleteMember(baggageKey) }

// end leaves the span, unless the request belongs to no trace and started none.
func (a *admitter) end(w *work, req admission.Request, response admission.Response, given bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mode != Record || !w.parent.IsValid() && !given && !w.left {
		return
	}
	r := record{name: w.name, context: w.self, start: w.start, end: a.kit.clock.Now()}
	r.attributes = append(objectAttributes(w.kind, req.Namespace, req.Name, "", 0),
		attribute.String("lifeline.operation", bound(string(req.Operation))),
		attribute.Bool("lifeline.allowed", response.Allowed))
	self := w.emit(w.parent, r, trace.WithSpanKind(trace.SpanKindServer), trace.WithLinks(w.links...))
	w.flush(self)
}

// give adds to the response the context that the object is to carry, and
// reports whether that is a new one. What cannot be read is left as it is.
func (a *admitter) give(w *work, req admission.Request, response *admission.Response) bool {
	sent, before := decodeObject(req.Object.Raw), decodeObject(req.OldObject.Raw)
	if sent == nil || response.Patch != nil || req.Operation == admissionv1.Update && before == nil {
		return false
	}
	s := supply{convention: a.kit.convention, gvk: w.kind, id: identity(w.kind, sent), bag: w.bag, offer: w.admitted}
	s.id.Namespace = req.Namespace
	now := content{annotations: sent.GetAnnotations(), desired: state(sent.Object).desired()}
	var v verdict
	switch req.Operation {
	case admissionv1.Create:
		if w.supplied(s, now) {
			return false
		}
		v = s.created(now, trace.SpanContext{}, 0)
	case admissionv1.Update:
		if metav1.GetControllerOfNoCopy(sent) != nil {
			s.offer = noOffer // P3c
		}
		v = s.updated(content{
			annotations: before.GetAnnotations(), desired: state(before.Object).desired(), generation: before.GetGeneration(),
		}, now, false)
	default:
		return false
	}
	if v.context.IsValid() && v.context.SpanID() != w.self.SpanID() && w.exact() {
		w.self = lifeline.Unclaimed(v.context)
	}
	response.Patches = append(response.Patches, patchAnnotations(now.annotations, s.with(now.annotations, v.carry), response.Patches)...)
	return v.context.IsValid()
}

// admitted makes the context of the write that is being admitted: that of the
// admission span itself, which stands for it.
func (w *work) admitted(child lifeline.Child) trace.SpanContext {
	sc := w.self
	if !w.exact() {
		sc = w.parent
	}
	if !sc.IsValid() {
		return sc
	}
	return lifeline.Claimed(sc, lifeline.Claim{
		Parent: w.parent.SpanID(), Object: child.Hash(), Digest: child.Digest, Generation: child.Generation, Time: w.start,
	})
}

// supplied reports whether the writer of a new object has just made the context
// that it carries: it is that of the request. One of ours that is not is a saved
// one (P3g); it is replaced, and linked.
func (w *work) supplied(s supply, sent content) bool {
	sc := s.context(sent.annotations)
	if !sc.IsValid() {
		return false
	}
	if _, ours := lifeline.ClaimOf(sc); !ours {
		return false
	}
	if w.parent.SpanID() == sc.SpanID() && w.parent.TraceID() == sc.TraceID() {
		return true
	}
	w.link(sc, linkStale)
	return false
}

func decodeObject(raw []byte) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if len(raw) == 0 || u.UnmarshalJSON(raw) != nil {
		return nil
	}
	dropNulls(u.Object)
	return u
}

// patchAnnotations is the JSON patch from one set of annotations to another,
// after patches that may have made the map already.
func patchAnnotations(before, after map[string]string, earlier []jsonpatch.JsonPatchOperation) []jsonpatch.JsonPatchOperation {
	var ops []jsonpatch.JsonPatchOperation
	made := before != nil || slices.ContainsFunc(earlier, func(o jsonpatch.JsonPatchOperation) bool { return o.Path == "/metadata/annotations" })
	for k, v := range after {
		if was, had := before[k]; had && was == v {
			continue
		}
		if !made {
			ops = append(ops, jsonpatch.NewOperation("add", "/metadata/annotations", map[string]string{}))
			made = true
		}
		ops = append(ops, jsonpatch.NewOperation("add", "/metadata/annotations/"+pointer(k), v))
	}
	for k := range before {
		if _, kept := after[k]; !kept {
			ops = append(ops, jsonpatch.NewOperation("remove", "/metadata/annotations/"+pointer(k), nil))
		}
	}
	return ops
}
