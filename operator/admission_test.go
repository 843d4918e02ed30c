// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	patchop "gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/operator"
)

// head is what a user writes: a Head as JSON.
func head(change ...func(map[string]any)) map[string]any {
	h := map[string]any{
		"apiVersion": "demo/v1", "kind": "Head",
		"metadata": map[string]any{"name": "head", "namespace": "demo"},
		"spec":     map[string]any{"size": int64(1)},
	}
	for _, c := range change {
		c(h)
	}
	return h
}

func sized(n int64) func(map[string]any) {
	return func(h map[string]any) { h["spec"] = map[string]any{"size": n} }
}

func inMeta(key string, v any) func(map[string]any) {
	return func(h map[string]any) { h["metadata"].(map[string]any)[key] = v }
}

func bearing(sc trace.SpanContext, more ...string) func(map[string]any) {
	all := map[string]any{}
	for k, v := range lifeline.Default.Encode(sc, baggage.Baggage{}) {
		all[k] = v
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return inMeta("annotations", all)
}

var headIdentity = lifeline.Identity{Group: "demo", Kind: "Head", Namespace: "demo", Name: "head"}

// headClaimed is a context that was made for the head's first desired state.
func headClaimed(n byte) trace.SpanContext {
	return lifeline.Claimed(given(n), lifeline.Claim{Object: headIdentity.Hash(), Digest: 5})
}

// asks makes an admission request about a Head.
func asks(operation admissionv1.Operation, object, old any) admission.Request {
	r := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "request", Operation: operation, Namespace: "demo", Name: "head",
		Kind: metav1.GroupVersionKind{Group: "demo", Version: "v1", Kind: "Head"},
	}}
	r.Object.Raw, r.OldObject.Raw = raw(object), raw(old)
	return r
}

func raw(obj any) []byte {
	switch obj := obj.(type) {
	case nil:
		return nil
	case string:
		return []byte(obj)
	}
	text, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	return text
}

// serve sends a request through a decorated webhook, in the trace of from.
func (r *rig) serve(
	t testing.TB,
	from trace.SpanContext,
	req admission.Request,
	inner admission.Handler,
	opts ...operator.WebhookOption,
) admission.Response {
	t.Helper()
	wh := r.kit.Webhook(&admission.Webhook{Handler: inner}, opts...)
	h := http.Header{}
	propagation.TraceContext{}.Inject(
		trace.ContextWithSpanContext(context.Background(), from),
		propagation.HeaderCarrier(h),
	)
	httpRequest, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	httpRequest.Header = h
	return wh.Handle(wh.WithContextFunc(t.Context(), httpRequest), req)
}

var allows = admission.HandlerFunc(
	func(context.Context, admission.Request) admission.Response { return admission.Allowed("") },
)

// admitted is the object as the API server has it after the response.
func admitted(t testing.TB, req admission.Request, response admission.Response) *metav1.PartialObjectMetadata {
	t.Helper()
	obj := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(raw(applied(t, req, response)), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestGivenContexts(t *testing.T) {
	yes := true
	ownedBy := func(group, kind string) func(map[string]any) {
		return inMeta(
			"ownerReferences",
			[]metav1.OwnerReference{{APIVersion: group + "/v1", Kind: kind, Name: "o", UID: "uid-o", Controller: &yes}},
		)
	}
	adds := func(ops ...patchop.Operation) admission.Handler {
		return admission.HandlerFunc(
			func(context.Context, admission.Request) admission.Response { return admission.Patched("", ops...) },
		)
	}
	cases := map[string]struct {
		reason string
		from   trace.SpanContext
		req    admission.Request
		inner  admission.Handler
		fresh  bool
		want   trace.SpanContext // that the object carries, if it is none of this request's
		links  map[string]string
		others map[string]string // annotations
	}{
		"create": {reason: "P1", from: given(1), req: asks(admissionv1.Create, head(), nil), fresh: true},
		"create, other annotations": {
			reason: "they stay",
			from:   given(1),
			req:    asks(admissionv1.Create, head(inMeta("annotations", map[string]any{"a/b~c": "1"})), nil),
			fresh:  true,
			others: map[string]string{"a/b~c": "1"},
		},
		"create, of no trace": {reason: "it starts one", req: asks(admissionv1.Create, head(), nil), fresh: true},
		"create, another's": {
			reason: "P3b",
			from:   given(1),
			req:    asks(admissionv1.Create, head(bearing(given(9))), nil),
			want:   given(9),
		},
		"create, the writer's own": {
			reason: "P1: who writes may supply it",
			from:   given(2),
			req:    asks(admissionv1.Create, head(bearing(headClaimed(2))), nil),
			want:   given(2),
		},
		"create, a saved one": {
			reason: "P3g: replaced, and linked",
			from:   given(1),
			req:    asks(admissionv1.Create, head(bearing(headClaimed(7))), nil),
			fresh:  true,
			links:  map[string]string{traceOf(7): "stale"},
		},
		"create, annotations: null": {
			reason: "the map is made",
			from:   given(1),
			req:    asks(admissionv1.Create, head(inMeta("annotations", nil)), nil),
			fresh:  true,
		},
		"create of a ReplicaSet": {
			reason: "P3c: its controller copies the Deployment's", from: given(1),
			req: func() admission.Request {
				r := asks(admissionv1.Create, head(ownedBy("apps", "Deployment")), nil)
				r.Kind = metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
				return r
			}(),
		},
		"create, after a patch that makes the map": {
			reason: "it is not made twice", from: given(1), req: asks(admissionv1.Create, head(), nil), fresh: true,
			inner:  adds(patchop.NewOperation("add", "/metadata/annotations", map[string]string{"team": "red"})),
			others: map[string]string{"team": "red"},
		},
		"create, after a patch in the map": {
			reason: "it is not made anew",
			from:   given(1),
			req:    asks(admissionv1.Create, head(inMeta("annotations", map[string]any{"a": "1"})), nil),
			fresh:  true,
			inner: adds(
				patchop.NewOperation("add", "/metadata/annotations/team", "red"),
				patchop.NewOperation("remove", "/metadata/annotations/a", nil),
			),
			others: map[string]string{"team": "red"},
		},
		"create, after a patch that removes the map": {
			reason: "it is made again",
			from:   given(1),
			req:    asks(admissionv1.Create, head(inMeta("annotations", map[string]any{"a": "1"})), nil),
			fresh:  true,
			inner:  adds(patchop.NewOperation("remove", "/metadata/annotations", nil)),
		},
		"create, after a patch with a context": {
			reason: "P3b: the handler's choice",
			from:   given(1),
			req:    asks(admissionv1.Create, head(), nil),
			want:   given(9),
			inner: adds(
				patchop.NewOperation(
					"add",
					"/metadata/annotations",
					lifeline.Default.Encode(given(9), baggage.Baggage{}),
				),
			),
		},
		"create, after several handlers": {
			reason: "their patch is encoded already",
			from:   given(1),
			req:    asks(admissionv1.Create, head(), nil),
			fresh:  true,
			inner: admission.MultiMutatingHandler(
				adds(patchop.NewOperation("add", "/metadata/annotations", map[string]string{"team": "red"})),
			),
			others: map[string]string{"team": "red"},
		},
		"update": {
			reason: "P1",
			from:   given(1),
			req:    asks(admissionv1.Update, head(sized(2), bearing(headClaimed(7))), head(bearing(headClaimed(7)))),
			fresh:  true,
		},
		"update, unchanged": {
			reason: "P3: a no-op stays one",
			from:   given(1),
			req:    asks(admissionv1.Update, head(bearing(headClaimed(7))), head(bearing(headClaimed(7)))),
			want:   given(7),
		},
		"update, dropped": {
			reason: "P3f",
			from:   given(1),
			req:    asks(admissionv1.Update, head(), head(bearing(headClaimed(7)))),
			want:   given(7),
		},
		"update, unchanged and an older one": {
			reason: "P3f",
			from:   given(1),
			req:    asks(admissionv1.Update, head(bearing(headClaimed(6))), head(bearing(headClaimed(7)))),
			want:   given(7),
		},
		"update, a saved one": {
			reason: "P3g: replaced, and linked",
			from:   given(1),
			req:    asks(admissionv1.Update, head(sized(2), bearing(headClaimed(6))), head(bearing(headClaimed(7)))),
			fresh:  true,
			links:  map[string]string{traceOf(6): "stale"},
		},
		"update, the writer's own": {
			reason: "P1",
			from:   given(2),
			req:    asks(admissionv1.Update, head(sized(2), bearing(headClaimed(2))), head(bearing(headClaimed(7)))),
			want:   given(2),
		},
		"update, another's": {
			reason: "P3b",
			from:   given(1),
			req:    asks(admissionv1.Update, head(sized(2), bearing(given(9))), head(bearing(headClaimed(7)))),
			want:   given(9),
		},
		"update by a controller of its own": {
			reason: "P3c",
			from:   given(1),
			req: asks(
				admissionv1.Update,
				head(sized(2), ownedBy("demo", "Group"), bearing(headClaimed(7))),
				head(bearing(headClaimed(7))),
			),
			want: given(7),
		},
		"status": {reason: "a subresource is not desired state", from: given(1), req: func() admission.Request {
			r := asks(admissionv1.Update, head(sized(2)), head())
			r.SubResource = "status"
			return r
		}()},
		"delete": {
			reason: "there is nothing to put it on",
			from:   given(1),
			req:    asks(admissionv1.Delete, nil, head()),
		},
		"denied": {
			reason: "nothing will be stored",
			from:   given(1),
			req:    asks(admissionv1.Create, head(), nil),
			inner: admission.HandlerFunc(
				func(context.Context, admission.Request) admission.Response { return admission.Denied("no") },
			),
		},
		"malformed": {reason: "left to the API server", from: given(1), req: asks(admissionv1.Create, `{"kind":`, nil)},
		"malformed annotations": {
			reason: "never lose what the writer sent",
			from:   given(1),
			req: asks(
				admissionv1.Create,
				`{"apiVersion":"demo/v1","kind":"Head","metadata":{"annotations":{"a":1}}}`,
				nil,
			),
		},
		"malformed old object": {
			reason: "what was there is not known",
			from:   given(1),
			req:    asks(admissionv1.Update, head(sized(2)), "null"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			inner := tc.inner
			if inner == nil {
				inner = allows
			}
			response := r.serve(t, tc.from, tc.req, inner, operator.GivingContexts())
			if response.UID != "request" {
				t.Errorf("%s: the response is to %q", tc.reason, response.UID)
			}
			if !tc.fresh && tc.inner == nil && !tc.want.IsValid() {
				if len(response.Patches) > 0 {
					t.Errorf("%s: patched by %v", tc.reason, response.Patches)
				}
				return
			}
			obj := admitted(t, tc.req, response)
			sc := lifeline.Extract(obj)
			r.rec.OneTrace(t, "admission Head")
			span := only(t, r.rec, "admission Head")
			if tc.from.IsValid() && span.Parent().SpanID() != tc.from.SpanID() ||
				span.SpanKind() != trace.SpanKindServer {
				t.Errorf("%s: %v below %v", tc.reason, span.SpanKind(), span.Parent())
			}
			want := tc.want.SpanID()
			if tc.fresh {
				want = span.SpanContext().SpanID()
				claim, holds := lifeline.ClaimOf(sc)
				if !holds || !claim.Names(headIdentity) || !claim.Time.Equal(begin) ||
					claim.Parent != tc.from.SpanID() ||
					claim.Digest == 0 {
					t.Errorf("%s: the claim is %v", tc.reason, claim)
				}
			}
			if sc.SpanID() != want {
				t.Errorf("%s: it carries %v, want %s", tc.reason, sc, want)
			}
			others := maps.Clone(obj.Annotations)
			maps.DeleteFunc(others, func(k, _ string) bool { return lifeline.Default.Owns(k) })
			if diff := cmp.Diff(tc.others, others, equateEmpty); diff != "" {
				t.Errorf("%s: other annotations, -want +got\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.links, links(span), equateEmpty); diff != "" {
				t.Errorf("%s: links, -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

var equateEmpty = cmp.Transformer("nil", func(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
})

// TestAdmissionIsAFixpoint sends what came out of a webhook through it again, as
// the API server does when another webhook changed the object.
func TestAdmissionIsAFixpoint(t *testing.T) {
	for name, old := range map[string]map[string]any{"create": nil, "update": head(sized(2), bearing(headClaimed(7)))} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			operation, before := admissionv1.Create, any(nil)
			if old != nil {
				operation, before = admissionv1.Update, old
			}
			first := asks(operation, head(), before)
			obj := admitted(t, first, r.serve(t, given(1), first, allows, operator.GivingContexts()))
			r.rec.Reset()
			stored := head(func(h map[string]any) {
				h["metadata"].(map[string]any)["annotations"] = obj.Annotations
			})
			again := asks(admissionv1.Update, stored, stored)
			response := r.serve(t, given(2), again, allows, operator.GivingContexts())
			if len(response.Patches) > 0 {
				t.Errorf("patched by %v", response.Patches)
			}
		})
	}
}

func TestAdmissionWithoutGiving(t *testing.T) {
	cases := map[string]struct {
		reason string
		from   trace.SpanContext
		inner  admission.Handler
		dryRun bool
		want   []string
	}{
		"of a trace": {
			reason: "its work is a span",
			from:   given(1),
			inner:  allows,
			want:   []string{"admission Head"},
		},
		"of none":   {reason: "it starts none", inner: allows},
		"a dry run": {reason: "nothing is stored", from: given(1), inner: allows, dryRun: true},
		"of none, denied": {
			reason: "it starts none",
			inner: admission.HandlerFunc(
				func(context.Context, admission.Request) admission.Response { return admission.Denied("no") },
			),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			req := asks(admissionv1.Create, head(), nil)
			req.DryRun = &tc.dryRun
			want := tc.inner.Handle(t.Context(), req)
			if err := want.Complete(req); err != nil {
				t.Fatal(err)
			}
			got := r.serve(t, tc.from, req, tc.inner)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: the response, -want +got\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, names(r.rec.Spans())); diff != "" {
				t.Errorf("%s: spans, -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAdmissionDryRunGivesNothing(t *testing.T) {
	r := newRig(t, interceptor.Funcs{})
	req, yes := asks(admissionv1.Create, head(), nil), true
	req.DryRun = &yes
	if response := r.serve(t, given(1), req, allows, operator.GivingContexts()); len(response.Patches) > 0 {
		t.Errorf("patched by %v", response.Patches)
	}
	r.rec.None(t)
}

func TestAdmissionJoins(t *testing.T) {
	traceparent := func(n byte) string {
		c := propagation.MapCarrier{}
		propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), given(n)), c)
		return c["traceparent"]
	}
	cases := map[string]struct {
		reason string
		header map[string]string
		want   trace.SpanContext
	}{
		"traceparent": {
			reason: "W3C",
			header: map[string]string{"Traceparent": traceparent(1)},
			want:   given(1),
		},
		"baggage": {
			reason: "the API server keeps an ordinary caller's traceparent to itself",
			header: map[string]string{"Baggage": "team=red,lifeline=" + traceparent(2)},
			want:   given(2),
		},
		"both": {
			reason: "the API server's own span is no part of our trace",
			header: map[string]string{"Traceparent": traceparent(1), "Baggage": "lifeline=" + traceparent(2)},
			want:   given(2),
		},
		"broken baggage member": {
			reason: "as if it were not there",
			header: map[string]string{"Traceparent": traceparent(1), "Baggage": "lifeline=nonsense"},
			want:   given(1),
		},
		"neither": {reason: "of no trace"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			var before bool
			wh := r.kit.Webhook(
				&admission.Webhook{
					Handler: allows,
					WithContextFunc: func(ctx context.Context, _ *http.Request) context.Context {
						before = true
						return ctx
					},
				},
			)
			req := &http.Request{Header: http.Header{}}
			for k, v := range tc.header {
				req.Header.Set(k, v)
			}
			wh.Handle(wh.WithContextFunc(t.Context(), req), asks(admissionv1.Create, head(), nil))
			if !before {
				t.Errorf("%s: the webhook's own function was not called", tc.reason)
			}
			spans := r.rec.Spans()
			if !tc.want.IsValid() {
				r.rec.None(t)
			} else if len(spans) != 1 || spans[0].Parent().SpanID() != tc.want.SpanID() || spans[0].Parent().TraceID() != tc.want.TraceID() {
				t.Errorf("%s: below %v, want %v", tc.reason, spans[0].Parent(), tc.want)
			}
		})
	}
}

// TestAdmissionCallsItself: what a handler writes is of the request's trace.
func TestAdmissionCallsItself(t *testing.T) {
	for name, from := range map[string]trace.SpanContext{"of a trace": given(1), "of none": {}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			r.serve(
				t,
				from,
				asks(admissionv1.Create, head(), nil),
				admission.HandlerFunc(func(ctx context.Context, _ admission.Request) admission.Response {
					if err := r.client.Create(ctx, child()); err != nil {
						return admission.Errored(http.StatusInternalServerError, err)
					}
					return admission.Allowed("")
				}),
			)
			r.rec.OneTrace(t, "admission Head", "create ConfigMap")
			write, above := only(t, r.rec, "create ConfigMap"), only(t, r.rec, "admission Head")
			if write.Parent().SpanID() != above.SpanContext().SpanID() ||
				r.stored(t).SpanID() != write.SpanContext().SpanID() {
				t.Errorf("the write is below %v, and the child carries %v", write.Parent(), r.stored(t))
			}
		})
	}
}

func TestAdmissionModes(t *testing.T) {
	cases := map[string]struct {
		reason  string
		enabled bool
		handsOn bool
	}{
		"off": {reason: "nothing is handed on"},
		"propagate": {
			reason:  "the request's own context is, and no span that is not there",
			enabled: true,
			handsOn: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			if err := r.rec.Tracing().Set(t.Context(), tc.enabled, nil); err != nil {
				t.Fatal(err)
			}
			var got, sent trace.SpanContext
			calling := r.kit.Client(interceptor.NewClient(r.server, interceptor.Funcs{
				Create: func(ctx context.Context, _ client.WithWatch, _ client.Object, _ ...client.CreateOption) error {
					sent = trace.SpanContextFromContext(ctx)
					return nil
				},
			}))
			response := r.serve(
				t,
				given(1),
				asks(admissionv1.Create, head(), nil),
				admission.HandlerFunc(func(ctx context.Context, _ admission.Request) admission.Response {
					got = trace.SpanContextFromContext(ctx)
					_ = calling.Create(ctx, child())
					return admission.Allowed("")
				}),
				operator.GivingContexts(),
			)
			r.rec.None(t)
			want := trace.SpanID{}
			if tc.handsOn {
				want = given(1).SpanID()
			}
			if got.SpanID() != want || sent.SpanID() != want {
				t.Errorf("%s: the handler is given %v and sends %v, want %s", tc.reason, got, sent, want)
			}
			if sc := lifeline.Extract(
				admitted(t, asks(admissionv1.Create, head(), nil), response),
			); sc.SpanID() != want {
				t.Errorf("%s: the object carries %v, want %s", tc.reason, sc, want)
			}
		})
	}
}

func TestAdmissionUnsampled(t *testing.T) {
	r := newRig(t, interceptor.Funcs{})
	if err := r.rec.Tracing().Set(t.Context(), true, &tracingapi.TracingConfiguration{}); err != nil {
		t.Fatal(err)
	}
	req := asks(admissionv1.Create, head(), nil)
	sc := lifeline.Extract(admitted(t, req, r.serve(t, trace.SpanContext{}, req, allows, operator.GivingContexts())))
	if !sc.IsValid() || sc.IsSampled() {
		t.Errorf("it carries %v, want a context that says not to sample", sc)
	}
	r.rec.None(t)
}

func TestAdmissionPanicGoesOn(t *testing.T) {
	r := newRig(t, interceptor.Funcs{})
	no := false
	wh := r.kit.Webhook(
		&admission.Webhook{
			RecoverPanic: &no,
			Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
				panic("bug")
			}),
		},
	)
	func() {
		defer func() {
			if p := recover(); p != "bug" {
				t.Errorf("recovered %v", p)
			}
		}()
		wh.Handle(trace.ContextWithRemoteSpanContext(t.Context(), given(1)), asks(admissionv1.Create, head(), nil))
	}()
	if s := only(t, r.rec, "admission Head"); s.Status().Description == "" {
		t.Errorf("status %v", s.Status())
	}
}

// applied is the object as the API server has it after the response, as JSON.
func applied(t testing.TB, req admission.Request, response admission.Response) map[string]any {
	t.Helper()
	text := req.Object.Raw
	if response.Patch != nil {
		p, err := jsonpatch.DecodePatch(response.Patch)
		if err != nil {
			t.Fatalf("the response's patch %s: %v", response.Patch, err)
		}
		if text, err = p.Apply(text); err != nil {
			t.Fatalf("the response's patch %s: %v", response.Patch, err)
		}
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// carriedBy returns the context on an object that is JSON.
func carriedBy(object map[string]any) trace.SpanContext {
	annotations := lifeline.Annotations{}
	all, _ := object["metadata"].(map[string]any)["annotations"].(map[string]any)
	for k, v := range all {
		annotations[k], _ = v.(string)
	}
	return lifeline.Extract(&annotations)
}

// TestAdmissionAgain sends what came out of a webhook to it again as the same
// operation, as the API server does when a later webhook changed the object, and
// as a user does with what was saved a moment ago.
func TestAdmissionAgain(t *testing.T) {
	defaults := admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		return admission.Patched("", patchop.NewOperation("add", "/spec/mode", "fast"))
	})
	old := head(inMeta("generation", 4), bearing(lifeline.Claimed(given(7), lifeline.Claim{
		Object: headIdentity.Hash(), Digest: 5, Generation: 4, Time: begin.Add(-time.Hour),
	})))
	cases := map[string]struct {
		reason      string
		old         map[string]any
		sent        map[string]any
		inner       admission.Handler
		from, again trace.SpanContext
		after       time.Duration
		change      func(map[string]any) // between the calls
		renewed     bool
	}{
		"create":                 {reason: "another webhook changed nothing", from: given(1), again: given(1)},
		"create, of no trace":    {reason: "another webhook changed nothing"},
		"create, a second later": {reason: "webhooks take their time", after: time.Second},
		"create, another call span": {
			reason: "the API server may put one above each call",
			from:   given(1),
			again:  given(1).WithSpanID(given(2).SpanID()),
		},
		"create, with defaults": {reason: "the webhook's own handler changes the object, too", inner: defaults},
		"create, changed":       {reason: "another webhook's change is of the same request", change: sized(3)},
		"create, changed, of a run": {
			reason: "another webhook's change is of the same request",
			from:   given(1),
			again:  given(1),
			change: sized(3),
		},
		"create, later": {reason: "P3g: saved", after: 31 * time.Second, renewed: true},
		"create, before": {
			reason:  "P3g: by another clock, or made up",
			after:   -31 * time.Second,
			renewed: true,
		},
		"create, of another trace": {
			reason:  "P3g: another request's",
			from:    given(1),
			again:   given(2),
			renewed: true,
		},
		"create, saved": {reason: "made again at once, as it was", change: inMeta("generation", 1)},
		"create, saved and edited": {
			reason:  "P3g: what was read from a cluster has a generation",
			change:  func(h map[string]any) { inMeta("generation", 1)(h); sized(3)(h) },
			renewed: true,
		},
		"create, of another name": {reason: "P3g: a copy", change: inMeta("name", "other"), renewed: true},
		"update": {
			reason: "another webhook changed nothing",
			old:    old,
			sent:   head(sized(2)),
			from:   given(1),
			again:  given(1),
		},
		"update, of no trace": {reason: "another webhook changed nothing", old: old, sent: head(sized(2))},
		"update, with defaults": {
			reason: "the webhook's own handler changes the object, too",
			old:    old,
			sent:   head(sized(2)),
			inner:  defaults,
		},
		"update, changed": {
			reason: "another webhook's change is of the same request",
			old:    old,
			sent:   head(sized(2)),
			change: sized(3),
		},
		"update, later": {
			reason:  "P3g: saved",
			old:     old,
			sent:    head(sized(2)),
			after:   31 * time.Second,
			renewed: true,
		},
		"update of a label": {
			reason: "it leaves the generation",
			old:    old,
			sent:   head(inMeta("labels", map[string]string{"a": "1"})),
		},
		"update of a label, changed": {
			reason:  "and then does not",
			old:     old,
			sent:    head(inMeta("labels", map[string]string{"a": "1"})),
			change:  sized(3),
			renewed: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			operation, before := admissionv1.Create, any(nil)
			if tc.old != nil {
				operation, before = admissionv1.Update, tc.old
			}
			inner, sent := tc.inner, tc.sent
			if inner == nil {
				inner = allows
			}
			if sent == nil {
				sent = head()
			}
			call := func(from trace.SpanContext, uid types.UID, object map[string]any) map[string]any {
				req := asks(operation, object, before)
				req.UID = uid
				return applied(t, req, r.serve(t, from, req, inner, operator.GivingContexts()))
			}
			first := call(tc.from, "first", sent)
			had := carriedBy(first)
			if tc.change != nil {
				tc.change(first)
			}
			r.clock.SetTime(begin.Add(tc.after))
			r.rec.Reset()
			has := carriedBy(call(tc.again, "second", first))
			if renewed := !has.Equal(had); renewed != tc.renewed || !has.IsValid() {
				t.Errorf("%s: it carried %v and carries %v", tc.reason, had, has)
			}
			want := map[string]string{}
			if tc.renewed {
				want[had.TraceID().String()] = "stale"
			}
			for _, s := range r.rec.Spans() {
				if diff := cmp.Diff(want, links(s)); diff != "" {
					t.Errorf("%s: links, -want +got\n%s", tc.reason, diff)
				}
			}
		})
	}
}

// TestAdmissionOfAnUndo: what an object carried a moment ago, before the change
// that is undone, is not what this request was given.
func TestAdmissionOfAnUndo(t *testing.T) {
	ours := func(n byte, generation int64, at time.Time) func(map[string]any) {
		return bearing(
			lifeline.Claimed(
				given(n),
				lifeline.Claim{Object: headIdentity.Hash(), Digest: 5, Generation: generation, Time: at},
			),
		)
	}
	cases := map[string]struct {
		reason     string
		generation int64
		change     func(map[string]any)
	}{
		"of a spec":  {reason: "its generation is the one before", generation: 3, change: sized(1)},
		"of a label": {reason: "it is older than what is there", change: inMeta("labels", map[string]string{"a": "1"})},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			old := head(sized(2), inMeta("generation", 4), ours(7, 4, begin.Add(-time.Second)))
			req := asks(
				admissionv1.Update,
				head(sized(2), tc.change, ours(6, tc.generation, begin.Add(-2*time.Second))),
				old,
			)
			has := carriedBy(applied(t, req, r.serve(t, trace.SpanContext{}, req, allows, operator.GivingContexts())))
			if !has.IsValid() || has.TraceID() == given(6).TraceID() || has.TraceID() == given(7).TraceID() {
				t.Errorf("%s: it carries %v", tc.reason, has)
			}
			if diff := cmp.Diff(
				map[string]string{traceOf(6): "stale"},
				links(only(t, r.rec, "admission Head")),
			); diff != "" {
				t.Errorf("%s: links, -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAdmissionRepeatsItself: a call that the API server repeats because it got
// no answer is the same request.
func TestAdmissionRepeatsItself(t *testing.T) {
	for name, from := range map[string]trace.SpanContext{"of a trace": given(1), "of none": {}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			call := func(change func(*admission.Request)) trace.SpanContext {
				req := asks(admissionv1.Create, head(), nil)
				change(&req)
				return carriedBy(applied(t, req, r.serve(t, from, req, allows, operator.GivingContexts())))
			}
			first := call(func(*admission.Request) {})
			if again := call(func(*admission.Request) {}); !again.Equal(first) {
				t.Errorf("it was given %v and then %v", first, again)
			}
			others := map[string]func(*admission.Request){
				"another UID":  func(r *admission.Request) { r.UID = "other" },
				"another name": func(r *admission.Request) { r.Name = "other" },
				"no UID":       func(r *admission.Request) { r.UID = "" },
			}
			for name, change := range others {
				if other := call(change); other.SpanID() == first.SpanID() ||
					from.IsValid() != (other.TraceID() == first.TraceID()) {
					t.Errorf("with %s it was given %v, as %v", name, other, first)
				}
			}
		})
	}
}

// TestAdmissionSpanName: the sender of a request chooses what kind it names.
func TestAdmissionSpanName(t *testing.T) {
	cases := map[string]struct{ reason, kind, want string }{
		"kind":       {reason: "as a reader expects it", kind: "Head2", want: "admission Head2"},
		"longest":    {reason: "63 bytes", kind: strings.Repeat("K", 63), want: "admission " + strings.Repeat("K", 63)},
		"too long":   {reason: "a name has few values", kind: strings.Repeat("K", 64), want: "admission"},
		"none":       {reason: "it is nothing", want: "admission"},
		"digit":      {reason: "no kind begins so", kind: "2Head", want: "admission"},
		"space":      {reason: "it is no identifier", kind: "Head of us", want: "admission"},
		"line break": {reason: "it is no identifier", kind: "Head\n", want: "admission"},
		"letters":    {reason: "of other scripts are no part of a kind", kind: "Têtë", want: "admission"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			req := asks(admissionv1.Create, head(), nil)
			req.Kind.Kind = tc.kind
			r.serve(t, given(1), req, allows)
			if diff := cmp.Diff([]string{tc.want}, names(r.rec.Spans())); diff != "" {
				t.Errorf("%s: spans, -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAdmissionLeavesRoom: a context must not make the API server refuse an
// object.
func TestAdmissionLeavesRoom(t *testing.T) {
	const limit = 256 << 10
	cases := map[string]struct {
		reason string
		size   int
		given  bool
	}{
		"room":    {reason: "P1", size: limit - 1024, given: true},
		"no room": {reason: "the object would be refused for its sake", size: limit - 100},
		"refused": {reason: "it is refused in any case", size: limit + 1, given: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			req := asks(
				admissionv1.Create,
				head(inMeta("annotations", map[string]any{"a": strings.Repeat("x", tc.size-1)})),
				nil,
			)
			response := r.serve(t, given(1), req, allows, operator.GivingContexts())
			if !response.Allowed || carriedBy(applied(t, req, response)).IsValid() != tc.given {
				t.Errorf(
					"%s: allowed is %v, patched by %d operations",
					tc.reason,
					response.Allowed,
					len(response.Patches),
				)
			}
		})
	}
}
