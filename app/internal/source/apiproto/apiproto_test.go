// SPDX-License-Identifier: Apache-2.0

package apiproto_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kube-lifeline/lifeline/app/internal/normalize"
	"github.com/kube-lifeline/lifeline/app/internal/source/apiproto"
)

var serializer = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// TestLikeJSON compares objects of every kind with their JSON: empty ones, full ones, and ones with
// some fields, among them explicit zeros.
func TestLikeJSON(t *testing.T) {
	kinds := slices.SortedFunc(maps.Keys(scheme.Scheme.AllKnownTypes()), func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	})
	compared, seeds := 0, uint64(12)
	if testing.Short() {
		seeds = 3 // full, empty, half
	}
	for _, gvk := range kinds {
		obj, err := scheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		_, isObject := obj.(metav1.Object)
		_, isList := obj.(metav1.ListInterface)
		if !isObject && !isList || gvk.Kind == "List" || gvk.Kind == "Status" ||
			gvk.Version == runtime.APIVersionInternal {
			continue
		}
		compared++
		for seed := range seeds {
			obj, _ := scheme.Scheme.New(gvk)
			f := filler{rand.New(rand.NewPCG(seed, 0)), []float64{0, 1, 0.5}[min(seed, 2)]}
			f.fill(reflect.ValueOf(obj).Elem(), 0)
			obj.GetObjectKind().SetGroupVersionKind(gvk)
			if meta, is := obj.(metav1.Object); is {
				meta.SetUID("uid")
				meta.SetResourceVersion("7")
			}
			compare(t, fmt.Sprintf("%v, seed %d", gvk, seed), obj)
		}
	}
	if compared < 200 {
		t.Errorf("%d kinds were compared", compared)
	}
}

// compare compares the two encodings of an object, as an API server makes them from its storage.
func compare(t *testing.T, name string, obj runtime.Object) {
	t.Helper()
	encoded := encode(t, obj)
	stored, _, err := serializer.Decode(encoded, nil, nil)
	if err != nil {
		t.Fatal(name, err)
	}
	text, err := json.Marshal(stored)
	if err != nil {
		t.Fatal(name, err)
	}
	want, _, err := unstructured.UnstructuredJSONScheme.Decode(text, nil, nil)
	if err != nil {
		t.Fatal(name, err)
	}
	got, err := apiproto.Decode(encoded)
	if err != nil {
		t.Fatal(name, err)
	}
	if diff := cmp.Diff(observed(want), observed(got)); diff != "" {
		t.Errorf("%s: observations -json +protobuf:\n%s", name, diff)
	}
	if diff := cmp.Diff(content(want), content(got)); diff != "" {
		t.Errorf("%s: -json +protobuf:\n%s", name, diff)
	}
}

var normalizer = normalize.New(normalize.NewKey(), normalize.Settings{})

// observed returns the normal form of an object. The second one comes from the Normalizer's memory.
func observed(obj runtime.Object) (all []any) {
	u, is := obj.(*unstructured.Unstructured)
	if !is {
		return nil
	}
	for range 2 {
		if u.GetKind() == "Event" {
			all = append(all, normalizer.Event(u))
		} else {
			all = append(all, normalizer.Object(u))
		}
	}
	return all
}

func encode(t *testing.T, obj runtime.Object) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := serializer.Encode(obj, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// content returns a decoded object with its managedFields decoded, too.
func content(obj runtime.Object) any {
	switch obj := obj.(type) {
	case *unstructured.UnstructuredList:
		all := []any{obj.Object}
		for _, item := range obj.Items {
			all = append(all, decoded(item.Object))
		}
		return all
	case *unstructured.Unstructured:
		return decoded(obj.Object)
	}
	return obj
}

func decoded(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = decoded(v[i])
		}
	case map[string]any:
		for key, value := range v {
			v[key] = decoded(value)
			if text, is := value.(string); is && key == "fieldsV1" {
				var fields any
				if err := json.Unmarshal([]byte(text), &fields); err == nil {
					v[key] = fields
				}
			}
		}
	}
	return v
}

// filler fills objects with values.
type filler struct {
	*rand.Rand
	// share is the share of the fields that it fills.
	share float64
}

func (f *filler) fill(v reflect.Value, depth int) {
	if depth > 0 && f.Float64() >= f.share || depth > 12 || !v.CanSet() {
		return
	}
	switch of := v.Addr().Interface().(type) {
	case *metav1.Time:
		of.Time = time.Unix(f.Int64N(1<<32), f.Int64N(1e9))
		return
	case *metav1.MicroTime:
		of.Time = time.Unix(f.Int64N(1<<32), f.Int64N(1e9))
		return
	case *resource.Quantity:
		texts := []string{"0", "1", "100m", "1.5Gi", "1024Ki", "1e3", "0.000001", "-3", "12345678901234567890"}
		*of = resource.MustParse(texts[f.IntN(len(texts))])
		return
	case *intstr.IntOrString:
		if *of = intstr.FromInt32(f.Int32()); f.IntN(2) == 0 {
			*of = intstr.FromString("25%")
		}
		return
	case *runtime.RawExtension:
		of.Raw = []byte(`{"a":[1,2.5,"x<y",null,true],"n":9007199254740993}`)
		return
	case *metav1.FieldsV1:
		of.SetRawBytes([]byte(`{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"k:{\"name\":\"a\"}":{}}}`))
		return
	case *metav1.TypeMeta:
		return
	case *[]metav1.ManagedFieldsEntry:
		if depth > 2 {
			return // those of a template mean nothing
		}
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(f.IntN(4) > 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, int64(f.Int32()), -1 << 31}[f.IntN(5)])
	case reflect.String:
		v.SetString([]string{"", "a", "text", "é<&>\u2028", "\xff\xfe!"}[f.IntN(5)])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), f.IntN(4), 4))
		for i := range v.Len() {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := range f.IntN(4) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.SetString(fmt.Sprint("key", i))
			f.fill(value, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.Uint8:
		v.SetUint(f.Uint64N(256))
	}
}

// TestUnreadable: an unknown field or kind is an error, never a gap in the object.
func TestUnreadable(t *testing.T) {
	pod := encode(t, &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}})
	other := bytes.Replace(pod, []byte("Pod"), []byte("Pud"), 1)
	for name, data := range map[string][]byte{
		"empty": nil, "JSON": []byte(`{"kind":"Pod"}`), "cut": pod[:len(pod)-3], "another kind": other,
		"another field": encode(t, &runtime.Unknown{
			TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: []byte{60<<3&0x7f | 0x80, 60 >> 4, 1},
		}),
	} {
		if _, err := apiproto.Decode(data); !errors.Is(err, apiproto.ErrUnreadable) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestStatus: a refusal is a Status.
func TestStatus(t *testing.T) {
	want := &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Code:     410,
		Reason:   metav1.StatusReasonExpired,
	}
	got, err := apiproto.Decode(encode(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if got := got.(*metav1.Status); got.Code != 410 || got.Reason != metav1.StatusReasonExpired {
		t.Errorf("got %v", got)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("k8s\x00"))
	var out bytes.Buffer
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	pod.Name, pod.Labels = "a", map[string]string{"a": "b"}
	if err := serializer.Encode(pod, &out); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = apiproto.Decode(data) // it does not panic
	})
}
