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

// head returns a Head as JSON, as a user writes it.
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

// headClaimed returns a context that was made for the Head's first desired state.
func headClaimed(n byte) trace.SpanContext {
	return lifeline.Claimed(given(n), lifeline.Claim{Object: headIdentity.Hash(), Digest: 5})
}

// asks returns an admission request about a Head.
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

// admitted returns the object after the response.
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
		want   trace.SpanContext // context on the object, unless this request made it
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
		"create, of no trace": {
			reason: "the create starts a trace",
			req:    asks(admissionv1.Create, head(), nil),
			fresh:  true,
		},
		"create, another's": {
			reason: "P3b",
			from:   given(1),
			req:    asks(admissionv1.Create, head(bearing(given(9))), nil),
			want:   given(9),
		},
		"create, the writer's own": {
			reason: "P1: the writer may supply a context",
			from:   given(2),
			req:    asks(admissionv1.Create, head(bearing(headClaimed(2))), nil),
			want:   given(2),
		},
		"create, a saved one": {
			reason: "P3g: the saved context is replaced and linked",
			from:   given(1),
			req:    asks(admissionv1.Create, head(bearing(headClaimed(7))), nil),
			fresh:  true,
			links:  map[string]string{traceOf(7): "stale"},
		},
		"create, annotations: null": {
			reason: "the patch creates the map",
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
			reason: "the map is not created twice",
			from:   given(1),
			req:    asks(admissionv1.Create, head(), nil),
			fresh:  true,
			inner:  adds(patchop.NewOperation("add", "/metadata/annotations", map[string]string{"team": "red"})),
			others: map[string]string{"team": "red"},
		},
		"create, after a patch in the map": {
			reason: "the existing map stays",
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
			reason: "the map is created again",
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
			reason: "the combined patch is already encoded",
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
			reason: "P3: an update without a change stays one",
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
			reason: "P3g: the saved context is replaced and linked",
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
			reason: "a delete has no object to store",
			from:   given(1),
			req:    asks(admissionv1.Delete, nil, head()),
		},
		"denied": {
			reason: "a denied object is not stored",
			from:   given(1),
			req:    asks(admissionv1.Create, head(), nil),
			inner: admission.HandlerFunc(
				func(context.Context, admission.Request) admission.Response { return admission.Denied("no") },
			),
		},
		"malformed": {
			reason: "the API server returns the error",
			from:   given(1),
			req:    asks(admissionv1.Create, `{"kind":`, nil),
		},
		"malformed annotations": {
			reason: "the writer's object must stay unchanged",
			from:   given(1),
			req: asks(
				admissionv1.Create,
				`{"apiVersion":"demo/v1","kind":"Head","metadata":{"annotations":{"a":1}}}`,
				nil,
			),
		},
		"malformed old object": {
			reason: "the previous state is unknown",
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
				t.Errorf("%s: response UID = %q", tc.reason, response.UID)
			}
			if !tc.fresh && tc.inner == nil && !tc.want.IsValid() {
				if len(response.Patches) > 0 {
					t.Errorf("%s: patch = %v", tc.reason, response.Patches)
				}
				return
			}
			obj := admitted(t, tc.req, response)
			sc := lifeline.Extract(obj)
			r.rec.OneTrace(t, "admission Head")
			span := only(t, r.rec, "admission Head")
			if tc.from.IsValid() && span.Parent().SpanID() != tc.from.SpanID() ||
				span.SpanKind() != trace.SpanKindServer {
				t.Errorf("%s: span kind = %v, parent = %v", tc.reason, span.SpanKind(), span.Parent())
			}
			want := tc.want.SpanID()
			if tc.fresh {
				want = span.SpanContext().SpanID()
				claim, holds := lifeline.ClaimOf(sc)
				if !holds || !claim.Names(headIdentity) || !claim.Time.Equal(begin) ||
					claim.Parent != tc.from.SpanID() ||
					claim.Digest == 0 {
					t.Errorf("%s: claim = %v", tc.reason, claim)
				}
			}
			if sc.SpanID() != want {
				t.Errorf("%s: the object carries %v, want %s", tc.reason, sc, want)
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

// TestAdmissionIsAFixpoint sends the output of a webhook through it again. The API server does so
// when another webhook changed the object.
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
			reason: "the webhook's work is a span",
			from:   given(1),
			inner:  allows,
			want:   []string{"admission Head"},
		},
		"of none":   {reason: "the request starts no trace", inner: allows},
		"a dry run": {reason: "nothing is stored", from: given(1), inner: allows, dryRun: true},
		"of none, denied": {
			reason: "the request starts no trace",
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
			reason: "the API server does not forward an ordinary caller's traceparent",
			header: map[string]string{"Baggage": "team=red,lifeline=" + traceparent(2)},
			want:   given(2),
		},
		"both": {
			reason: "the API server's own span is not part of our trace",
			header: map[string]string{"Traceparent": traceparent(1), "Baggage": "lifeline=" + traceparent(2)},
			want:   given(2),
		},
		"broken baggage member": {
			reason: "a broken member is ignored",
			header: map[string]string{"Traceparent": traceparent(1), "Baggage": "lifeline=nonsense"},
			want:   given(1),
		},
		"neither": {reason: "the request has no trace"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			var before bool
			wh := r.kit.Webhook(&admission.Webhook{
				Handler: allows,
				WithContextFunc: func(ctx context.Context, _ *http.Request) context.Context {
					before = true
					return ctx
				},
			})
			req := &http.Request{Header: http.Header{}}
			for k, v := range tc.header {
				req.Header.Set(k, v)
			}
			wh.Handle(wh.WithContextFunc(t.Context(), req), asks(admissionv1.Create, head(), nil))
			if !before {
				t.Errorf("%s: the webhook's WithContextFunc was not called", tc.reason)
			}
			spans := r.rec.Spans()
			if !tc.want.IsValid() {
				r.rec.None(t)
			} else if len(spans) != 1 || spans[0].Parent().SpanID() != tc.want.SpanID() ||
				spans[0].Parent().TraceID() != tc.want.TraceID() {
				t.Errorf("%s: parent = %v, want %v", tc.reason, spans[0].Parent(), tc.want)
			}
		})
	}
}

// TestAdmissionCallsItself checks that a handler's writes are in the request's trace.
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
				t.Errorf("parent of the write: %v; the child carries %v", write.Parent(), r.stored(t))
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
		"off": {reason: "nothing is passed on"},
		"propagate": {
			reason:  "only the request's context is passed on",
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
				t.Errorf("%s: the handler got %v and sent %v, want %s", tc.reason, got, sent, want)
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
		t.Errorf("the object carries %v, want an unsampled context", sc)
	}
	r.rec.None(t)
}

func TestAdmissionPanicGoesOn(t *testing.T) {
	r := newRig(t, interceptor.Funcs{})
	no := false
	wh := r.kit.Webhook(&admission.Webhook{
		RecoverPanic: &no,
		Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
			panic("bug")
		}),
	})
	func() {
		defer func() {
			if p := recover(); p != "bug" {
				t.Errorf("recovered %v, want the handler's panic", p)
			}
		}()
		wh.Handle(trace.ContextWithRemoteSpanContext(t.Context(), given(1)), asks(admissionv1.Create, head(), nil))
	}()
	if s := only(t, r.rec, "admission Head"); s.Status().Description == "" {
		t.Errorf("span status = %v", s.Status())
	}
}

// applied returns the object after the response, as JSON.
func applied(t testing.TB, req admission.Request, response admission.Response) map[string]any {
	t.Helper()
	text := req.Object.Raw
	if response.Patch != nil {
		p, err := jsonpatch.DecodePatch(response.Patch)
		if err != nil {
			t.Fatalf("cannot apply the response's patch %s: %v", response.Patch, err)
		}
		if text, err = p.Apply(text); err != nil {
			t.Fatalf("cannot apply the response's patch %s: %v", response.Patch, err)
		}
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// carriedBy returns the context on a JSON object.
func carriedBy(object map[string]any) trace.SpanContext {
	annotations := lifeline.Annotations{}
	all, _ := object["metadata"].(map[string]any)["annotations"].(map[string]any)
	for k, v := range all {
		annotations[k], _ = v.(string)
	}
	return lifeline.Extract(&annotations)
}

// TestAdmissionAgain sends the output of a webhook to it again, as the same operation. The API
// server does so when a later webhook changed the object. So does a user with an object saved a
// moment ago.
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
		"create":                 {reason: "a repeated call without a change", from: given(1), again: given(1)},
		"create, of no trace":    {reason: "a repeated call without a change"},
		"create, a second later": {reason: "a repeated call may come later", after: time.Second},
		"create, another call span": {
			reason: "the API server may add a span per call",
			from:   given(1),
			again:  given(1).WithSpanID(given(2).SpanID()),
		},
		"create, with defaults": {reason: "the webhook's handler also changes the object", inner: defaults},
		"create, changed":       {reason: "another webhook's change belongs to the same request", change: sized(3)},
		"create, changed, of a run": {
			reason: "another webhook's change belongs to the same request",
			from:   given(1),
			again:  given(1),
			change: sized(3),
		},
		"create, later": {reason: "P3g: the context is too old", after: 31 * time.Second, renewed: true},
		"create, before": {
			reason:  "P3g: the context is from the future",
			after:   -31 * time.Second,
			renewed: true,
		},
		"create, of another trace": {
			reason:  "P3g: the context is from another request",
			from:    given(1),
			again:   given(2),
			renewed: true,
		},
		"create, saved": {reason: "created again at once, unchanged", change: inMeta("generation", 1)},
		"create, saved and edited": {
			reason:  "P3g: an object read from a cluster has a generation",
			change:  func(h map[string]any) { inMeta("generation", 1)(h); sized(3)(h) },
			renewed: true,
		},
		"create, of another name": {
			reason:  "P3g: the context is a copy",
			change:  inMeta("name", "other"),
			renewed: true,
		},
		"update": {
			reason: "a repeated call without a change",
			old:    old,
			sent:   head(sized(2)),
			from:   given(1),
			again:  given(1),
		},
		"update, of no trace": {reason: "a repeated call without a change", old: old, sent: head(sized(2))},
		"update, with defaults": {
			reason: "the webhook's handler also changes the object",
			old:    old,
			sent:   head(sized(2)),
			inner:  defaults,
		},
		"update, changed": {
			reason: "another webhook's change belongs to the same request",
			old:    old,
			sent:   head(sized(2)),
			change: sized(3),
		},
		"update, later": {
			reason:  "P3g: the context is too old",
			old:     old,
			sent:    head(sized(2)),
			after:   31 * time.Second,
			renewed: true,
		},
		"update of a label": {
			reason: "a label change keeps the generation",
			old:    old,
			sent:   head(inMeta("labels", map[string]string{"a": "1"})),
		},
		"update of a label, changed": {
			reason:  "another webhook's change increments the generation",
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
				t.Errorf("%s: first context %v, second %v", tc.reason, had, has)
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

// TestAdmissionOfAnUndo checks an undo that restores a context from a moment ago. This request did
// not make that context.
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
		"of a spec": {reason: "the claim has an earlier generation", generation: 3, change: sized(1)},
		"of a label": {
			reason: "the context is older than the current one",
			change: inMeta("labels", map[string]string{"a": "1"}),
		},
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
				t.Errorf("%s: the object carries %v", tc.reason, has)
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

// TestAdmissionRepeatsItself checks that a call repeated by the API server, after a missing
// response, counts as the same request.
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
				t.Errorf("the first call gave %v, the second %v", first, again)
			}
			others := map[string]func(*admission.Request){
				"another UID":  func(r *admission.Request) { r.UID = "other" },
				"another name": func(r *admission.Request) { r.Name = "other" },
				"no UID":       func(r *admission.Request) { r.UID = "" },
			}
			for name, change := range others {
				if other := call(change); other.SpanID() == first.SpanID() ||
					from.IsValid() != (other.TraceID() == first.TraceID()) {
					t.Errorf("%s gave %v, the same as %v", name, other, first)
				}
			}
		})
	}
}

// TestAdmissionSpanName checks arbitrary kinds, because the sender of a request chooses the kind.
func TestAdmissionSpanName(t *testing.T) {
	cases := map[string]struct{ reason, kind, want string }{
		"kind": {reason: "a valid kind", kind: "Head2", want: "admission Head2"},
		"longest": {
			reason: "the maximum of 63 bytes",
			kind:   strings.Repeat("K", 63),
			want:   "admission " + strings.Repeat("K", 63),
		},
		"too long":   {reason: "over the maximum", kind: strings.Repeat("K", 64), want: "admission"},
		"none":       {reason: "the kind is empty", want: "admission"},
		"digit":      {reason: "a kind starts with a letter", kind: "2Head", want: "admission"},
		"space":      {reason: "a kind has no white space", kind: "Head of us", want: "admission"},
		"line break": {reason: "a kind has no white space", kind: "Head\n", want: "admission"},
		"letters":    {reason: "a kind has only ASCII letters and digits", kind: "Têtë", want: "admission"},
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

// TestAdmissionLeavesRoom checks that a context never makes the API server refuse an object.
func TestAdmissionLeavesRoom(t *testing.T) {
	const limit = 256 << 10
	cases := map[string]struct {
		reason string
		size   int
		given  bool
	}{
		"room":    {reason: "P1", size: limit - 1024, given: true},
		"no room": {reason: "the context would make the API server refuse the object", size: limit - 100},
		"refused": {reason: "the API server refuses the object in any case", size: limit + 1, given: true},
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
