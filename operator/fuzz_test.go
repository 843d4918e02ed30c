// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"encoding/json"
	"testing"

	evanphx "github.com/evanphx/json-patch/v5"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kube-lifeline/lifeline"
)

// planning is a provider that accepts planned IDs and makes no spans.
type planning struct{ *sdktrace.TracerProvider }

func (planning) Mode() Mode                    { return Record }
func (planning) SampleRoot(trace.TraceID) bool { return false }

func planningKit(opts ...Option) *Kit {
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	return New(append(opts, WithTracerProvider(planning{sdk}))...)
}

// FuzzPatch sends arbitrary patches. They must not cause a panic, and everything outside our keys
// must be sent unchanged.
func FuzzPatch(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"data":{"a":"2"}}`, `{"metadata":{"annotations":{"a":null,"b":"c"}},"data":{"a":"2"}}`,
		`{"metadata":null}`, `{"metadata":{"annotations":{"` + lifeline.ContextKey + `":null}}}`,
		`{"metadata":{"annotations":[]}}`, `{"metadata":{"annotations":"x"},"data":{"a":"3"}}`,
		`[{"op":"replace","path":"/data/a","value":"2"}]`, `[{"op":"remove","path":"/metadata/annotations"}]`,
		`[{"op":"add","path":"/metadata/annotations/x","value":"y"},{"op":"replace","path":"/data/a","value":"2"}]`,
		`null`, `[null]`, `[{}]`, `"x"`,
	} {
		for kind := range uint8(4) {
			f.Add(kind, []byte(seed), true)
		}
		f.Add(uint8(0), []byte(seed), false)
	}
	kinds := []types.PatchType{
		types.MergePatchType,
		types.StrategicMergePatchType,
		types.JSONPatchType,
		types.ApplyPatchType,
	}
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	f.Fuzz(func(t *testing.T, kind uint8, patch []byte, has bool) {
		k := planningKit()
		store := toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)
		k.informers.holders.Store(informerKey{gvk, typed}, ownStore{store})
		held := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web", UID: "uid-web", ResourceVersion: "5"},
			Data:       map[string]string{"a": "1"},
		}
		if has {
			held.Annotations = map[string]string{"team": "red"}
		}
		if err := store.Add(held.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		w := k.loose(trace.ContextWithSpanContext(context.Background(), above), Record)
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}}
		cached, whole := k.informers.object(gvk, client.ObjectKeyFromObject(obj))
		c := &call{
			work:   w,
			gvk:    gvk,
			key:    objectKey{gvk.GroupKind(), client.ObjectKeyFromObject(obj)},
			verb:   "patch",
			cached: cached,
			whole:  whole,
			ctx:    context.Background(),
		}
		sent, err := c.patch(obj, client.RawPatch(kinds[int(kind)%len(kinds)], patch)).Data(obj)
		if err != nil {
			t.Fatal(err)
		}
		before, err := json.Marshal(held)
		if err != nil {
			t.Fatal(err)
		}
		if now, err := json.Marshal(cached); err != nil || string(now) != string(before) {
			t.Fatalf("the informer's object changed: %s", now)
		}
		var wanted, got []byte
		switch kinds[int(kind)%len(kinds)] {
		case types.JSONPatchType:
			wanted, got = patchedBy(before, patch), patchedBy(before, sent)
		case types.MergePatchType:
			wanted, _ = evanphx.MergePatch(before, patch)
			got, _ = evanphx.MergePatch(before, sent)
		default:
			return
		}
		if wanted == nil {
			return // the API server refuses it in any case
		}
		if got == nil {
			t.Fatalf("%s became %s, which cannot be applied", patch, sent)
		}
		if a, b := parseState(wanted), parseState(got); !a.Desired().Equal(b.Desired()) {
			t.Errorf("%s became %s, which has another effect", patch, sent)
		}
	})
}

func patchedBy(obj, patch []byte) []byte {
	p, err := evanphx.DecodePatch(patch)
	if err != nil {
		return nil
	}
	after, err := p.Apply(obj)
	if err != nil {
		return nil
	}
	return after
}

// FuzzAdmission admits arbitrary bytes. They must not cause a panic. The patch must be applicable,
// keep the writer's annotations, and change nothing the second time.
func FuzzAdmission(f *testing.F) {
	plain := `{"apiVersion":"v1","kind":"Head","metadata":{"name":"web","annotations":{"a/b":"c"}},"spec":{"size":1}}`
	for _, seed := range []string{
		plain, `{"kind":"Head"}`, `{"kind":"Head","metadata":null}`,
		`{"kind":"Head","metadata":{"annotations":null}}`, `null`, `[]`, `{`, ``,
		`{"kind":"Head","metadata":{"annotations":{"a":1}}}`, `{"kind":"Head","Metadata":{"annotations":{"a":"1"}}}`,
		`{"kind":"Head","metadata":{"annotations":{"` + lifeline.ContextKey +
			`":"00-00000000000000000000000000000001-0000000000000009-01"}}}`,
	} {
		f.Add([]byte(seed), []byte(nil), []byte(nil))
		f.Add([]byte(seed), []byte(plain), []byte(nil))
		f.Add([]byte(seed), []byte(nil), []byte(`[{"op":"add","path":"/metadata/annotations","value":{"x":"y"}}]`))
		f.Add([]byte(plain), []byte(seed), []byte(`[{"op":"remove","path":"/metadata"}]`))
	}
	f.Fuzz(func(t *testing.T, object, old, patch []byte) {
		k := planningKit()
		inner := admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
			r := admission.Allowed("")
			if len(patch) > 0 {
				r.Patch = patch
			}
			return r
		})
		a := &admitter{kit: k, inner: inner, gives: true}
		serve := func(object, old []byte) []byte {
			req := admission.Request{
				AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create, Namespace: "demo"},
			}
			if len(old) > 0 {
				req.Operation = admissionv1.Update
			}
			req.Kind.Kind = "Head"
			req.Object.Raw, req.OldObject.Raw = object, old
			response := a.Handle(context.Background(), req)
			if err := response.Complete(req); err != nil {
				t.Fatal(err)
			}
			return response.Patch
		}
		text := serve(object, old)
		if len(text) == 0 {
			return
		}
		wanted := object
		if len(patch) > 0 {
			wanted = patchedBy(object, patch)
		}
		after := patchedBy(object, text)
		if after == nil {
			if wanted != nil {
				t.Fatalf("%s cannot be applied to %s", text, object)
			}
			return
		}
		if x, y := parseState(wanted), parseState(after); !x.Desired().Equal(y.Desired()) {
			t.Errorf("%s patched by %s became %s", object, text, after)
		}
		patch = nil
		if again := serve(after, after); len(again) > 0 {
			t.Errorf("%s: a second admission returned patch %s", after, again)
		}
	})
}
