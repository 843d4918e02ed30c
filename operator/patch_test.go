// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline"
)

var deployments = appsv1.SchemeGroupVersion.WithKind("Deployment")

// deployed returns a Deployment in the informer.
func deployed(annotations map[string]string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       request.Namespace,
			Name:            "child",
			UID:             "uid-child",
			ResourceVersion: "7",
			Generation:      1,
			Annotations:     annotations,
		},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](9007199254740993)},
			Containers:      []corev1.Container{{Name: "app", Image: "app:1"}},
		}}},
	}
}

// sent returns the patch that reaches the API server, for an object from the informer.
func sent(t *testing.T, have *appsv1.Deployment, p client.Patch) string {
	t.Helper()
	var got string
	r := newRig(t, interceptor.Funcs{
		Patch: func(
			_ context.Context, _ client.WithWatch, obj client.Object, p client.Patch, _ ...client.PatchOption,
		) error {
			data, err := p.Data(obj)
			got = string(data)
			return err
		},
	})
	r.have(t, parent(carrying(given(1))))
	store := toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)
	if err := store.Add(have); err != nil {
		t.Fatal(err)
	}
	r.kit.HaveInformer(deployments, store)
	_, err := r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
		obj := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: "child"}}
		obj.SetGroupVersionKind(deployments)
		return reconcile.Result{}, c.Patch(ctx, obj, p, client.FieldOwner("head"))
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestPatchesKeepNumbers(t *testing.T) {
	const at = `"spec":{"template":{"spec":{"securityContext":{"runAsUser":`
	const end = `}}}}`
	cases := map[string]struct {
		reason string
		kind   types.PatchType
		data   string
		want   []string
	}{
		"merge patch, a context added": {
			reason: "the number exceeds the precision of float64",
			kind:   types.MergePatchType,
			data:   `{` + at + `1700000000000000001` + end + `}`,
			want:   []string{at + `1700000000000000001` + end, lifeline.ContextKey},
		},
		"merge patch, a context dropped": {
			reason: "the rest of the patch stays",
			kind:   types.MergePatchType,
			data: `{"metadata":{"annotations":{"` + lifeline.ContextKey + `":null},` +
				`"labels":{"a":"b"}},` + at + `9007199254740993` + end + `}`,
			want: []string{at + `9007199254740993` + end, `"labels":{"a":"b"}`},
		},
		"strategic patch, a context added": {
			reason: "the number exceeds the precision of float64",
			kind:   types.StrategicMergePatchType,
			data:   `{` + at + `1700000000000000001` + end + `}`,
			want:   []string{at + `1700000000000000001` + end, lifeline.ContextKey},
		},
		"JSON patch, a context added": {
			reason: "the number exceeds the precision of float64",
			kind:   types.JSONPatchType,
			data: `[{"op":"replace","path":"/spec/template/spec/securityContext/runAsUser",` +
				`"value":1700000000000000001}]`,
			want: []string{`"value":1700000000000000001}`, strings.ReplaceAll(lifeline.ContextKey, "/", "~1")},
		},
		"apply, a context added": {
			reason: "the number exceeds the precision of float64",
			kind:   types.ApplyPatchType,
			data: `{"apiVersion":"apps/v1","kind":"Deployment",` +
				`"metadata":{"name":"child"},` + at + `1700000000000000001` + end + `}`,
			want: []string{at + `1700000000000000001` + end, lifeline.ContextKey},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := sent(t, deployed(map[string]string{"team": "red"}), client.RawPatch(tc.kind, []byte(tc.data)))
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s: sent %s, which lacks %s", tc.reason, got, want)
				}
			}
		})
	}
}

// TestPatchesThatNeedNoEdit checks that such patches are sent byte for byte.
func TestPatchesThatNeedNoEdit(t *testing.T) {
	cases := map[string]struct {
		kind types.PatchType
		data string
	}{
		"merge, unchanged": {
			types.MergePatchType,
			`{ "spec": {"template":{"spec":{"securityContext":{"runAsUser": 9007199254740993}}}} }`,
		},
		"merge, replicas":      {types.MergePatchType, `{ "spec": {"replicas": 1.0} }`},
		"merge, null metadata": {types.MergePatchType, `{ "metadata": null, "spec": {"minReadySeconds": 3} }`},
		"merge, all to go": {
			types.MergePatchType,
			`{ "metadata": {"annotations": null}, "spec": {"minReadySeconds": 3} }`,
		},
		"merge, no object": {types.MergePatchType, ` [1]`},
		"strategic, unchanged": {
			types.StrategicMergePatchType,
			`{ "spec": {"template":{"spec":{"containers":[{"name":"app","image":"app:1"}]}}} }`,
		},
		"JSON, unchanged": {types.JSONPatchType, `[ {"op":"test","path":"/metadata/name","value":"child"} ]`},
		"JSON, broken":    {types.JSONPatchType, `[ {"op":1} ]`},
		"apply, of YAML":  {types.ApplyPatchType, "metadata: {}\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(
				tc.data,
				sent(t, deployed(map[string]string{"team": "red"}), client.RawPatch(tc.kind, []byte(tc.data))),
			); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestJSONPatchAddsNoMap checks that no annotation map is added. It would replace a map that
// another writer has added since.
func TestJSONPatchAddsNoMap(t *testing.T) {
	const data = `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"app:2"}]`
	if diff := cmp.Diff(data, sent(t, deployed(nil), client.RawPatch(types.JSONPatchType, []byte(data)))); diff != "" {
		t.Errorf("without annotations: -want +got\n%s", diff)
	}
	var ops []struct{ Op, Path string }
	if err := json.Unmarshal(
		[]byte(sent(t, deployed(map[string]string{"team": "red"}), client.RawPatch(types.JSONPatchType, []byte(data)))),
		&ops,
	); err != nil {
		t.Fatal(err)
	}
	if len(ops) < 2 || ops[len(ops)-1].Op != "add" ||
		!strings.HasPrefix(ops[len(ops)-1].Path, "/metadata/annotations/trace.kubernetes.io~1") {
		t.Errorf("with annotations: sent %v", ops)
	}
}

// TestAnnotationsThatWouldNotFit checks that a context never makes a write fail. The API server
// accepts 256 KiB of annotations.
func TestAnnotationsThatWouldNotFit(t *testing.T) {
	full := map[string]string{"all": strings.Repeat("x", 256<<10-len("all"))}
	for name, p := range map[string]client.Patch{
		"merge": client.RawPatch(types.MergePatchType, []byte(`{"spec":{"minReadySeconds":3}}`)),
		"JSON": client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/spec/minReadySeconds","value":`+
			`3}]`)),
		"apply": client.RawPatch(types.ApplyPatchType, []byte(`{"apiVersion":"apps/v1","kind":"Deployment",`+
			`"metadata":{"name":"child"},"spec":{"minReadySeconds":3}}`)),
	} {
		t.Run(name, func(t *testing.T) {
			want, err := p.Data(nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), sent(t, deployed(full), p)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	for name, do := range map[string]func(context.Context, client.Client, client.Object) error{
		"create": func(ctx context.Context, c client.Client, o client.Object) error { return c.Create(ctx, o) },
		"update": func(ctx context.Context, c client.Client, o client.Object) error { return c.Update(ctx, o) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			r.have(t, parent(carrying(given(1))))
			if name == "update" {
				r.haveChild(t, child())
			}
			obj := child()
			obj.Annotations, obj.Data["a"] = full, "2"
			_, err := r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
				return reconcile.Result{}, do(ctx, c, obj)
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(full, obj.Annotations); diff != "" {
				t.Error("the writer's annotations changed")
			}
		})
	}
}
