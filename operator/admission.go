// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// baggageKey is the baggage member with a write's context. It reaches admission even if the API
// server does not forward the traceparent of an ordinary caller.
const baggageKey = "lifeline"

// camelCase matches a valid kind. The kind in a request can be arbitrary text, because the sender
// need not be the API server.
var camelCase = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,62}$`)

// headers reads the context of a request.
var headers = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// Webhook decorates wh. Its span belongs to the trace of the admitted request, and the requests of
// its handler carry that trace on. For a manager from elsewhere than NewManager, it returns wh
// unchanged.
func Webhook(m manager.Manager, wh *admission.Webhook, opts ...WebhookOption) *admission.Webhook {
	if k := kitOf(m); k != nil {
		return k.Webhook(wh, opts...)
	}
	return wh
}

// WebhookOption configures Webhook.
type WebhookOption func(*admitter)

// GivingContexts makes a mutating webhook give contexts. An object gets one if its desired state is
// new and its writer supplied no context (P1, P3). The webhook's configuration must include the
// creates and updates of the kind.
func GivingContexts() WebhookOption { return func(a *admitter) { a.gives = true } }

// Webhook decorates wh, like the function Webhook.
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
		if k.mode() == Off {
			return ctx
		}
		return withRequest(ctx, r.Header)
	}
	return wh
}

// withRequest returns ctx with the trace context and the baggage of an admission request.
func withRequest(ctx context.Context, h http.Header) context.Context {
	ctx = headers.Extract(ctx, propagation.HeaderCarrier(h))
	value := baggage.FromContext(ctx).Member(baggageKey).Value()
	if value == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": value})
}

// admitter is a handler with tracing.
type admitter struct {
	kit   *Kit
	inner admission.Handler
	gives bool
}

// Handle runs the inner handler as a work.
func (a *admitter) Handle(ctx context.Context, req admission.Request) (response admission.Response) {
	k := a.kit
	mode := k.mode()
	if mode == Off || req.DryRun != nil && *req.DryRun {
		return a.inner.Handle(ctx, req)
	}
	gvk := schema.GroupVersionKind{
		Group:   bound(req.Kind.Group),
		Version: bound(req.Kind.Version),
		Kind:    bound(req.Kind.Kind),
	}
	w := &work{
		kit: k, name: "admission", mode: mode, kind: gvk, start: k.clock.Now(), placed: true,
		parent: trace.SpanContextFromContext(ctx), bag: withoutOwn(baggage.FromContext(ctx)),
	}
	if camelCase.MatchString(gvk.Kind) {
		w.name += " " + gvk.Kind
	}
	w.identify()
	w.identifyBy(req)
	inner := withWork(withTraceLog(ctx, w), w)
	if w.exact() {
		inner = trace.ContextWithSpanContext(inner, w.self)
	}
	given, err := false, errPanic
	defer func() { a.end(w, req, response.Allowed, given, err) }()
	response, err = a.inner.Handle(inner, req), nil
	if a.gives && response.Allowed && req.SubResource == "" {
		given = a.give(w, req, &response)
	}
	return response
}

// identifyBy derives the work's span context from the request. The API server repeats a call
// without an answer, and both calls then give the same context.
func (w *work) identifyBy(req admission.Request) {
	if req.UID == "" {
		return
	}
	text, err := json.Marshal([]any{req.UID, req.Kind, req.Namespace, req.Name, req.Operation, req.SubResource})
	if err != nil { // cannot happen: encoding strings never fails
		return
	}
	sum := sha256.Sum256(text)
	sum[15], sum[23] = sum[15]|1, sum[23]|1 // an all-zero ID is invalid
	w.self = w.self.WithSpanID(trace.SpanID(sum[16:24]))
	if w.parent.IsValid() {
		return
	}
	id := trace.TraceID(sum[:16])
	sampled := w.kit.exact != nil && w.kit.exact.SampleRoot(id)
	w.self = w.self.WithTraceID(id).WithTraceFlags(w.self.TraceFlags().WithSampled(sampled))
}

// errPanic is the span's error when a handler panics. The callers above handle the panic.
var errPanic = errors.New("panic in the admission handler")

// withoutOwn returns b without the kit's own member.
func withoutOwn(b baggage.Baggage) baggage.Baggage { return b.DeleteMember(baggageKey) }

// end emits the span, unless the request is part of no trace and started none.
func (a *admitter) end(w *work, req admission.Request, allowed, given bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.mode != Record || !w.parent.IsValid() && !given && !w.left && err == nil {
		return
	}
	r := record{name: w.name, context: w.self, start: w.start, end: a.kit.clock.Now(), err: err}
	r.attributes = append(objectAttributes(w.kind, req.Namespace, req.Name, "", 0),
		attribute.String("lifeline.operation", bound(string(req.Operation))),
		attribute.Bool("lifeline.allowed", allowed))
	w.made = w.emit(w.parent, r, trace.WithSpanKind(trace.SpanKindServer), trace.WithLinks(w.links...))
	w.flush(w.made)
}
