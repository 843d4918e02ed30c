// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/app/internal/source/request"
)

// The encodings of an API server's responses.
const (
	asJSON     = "application/json"
	asYAML     = "application/yaml"
	asCBOR     = "application/cbor"
	asProtobuf = "application/vnd.kubernetes.protobuf"
)

// encode encodes an object like an API server.
func encode(t testing.TB, media string, o runtime.Object) []byte {
	t.Helper()
	var err error
	var out []byte
	switch media {
	case asProtobuf:
		var buf bytes.Buffer
		err = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o, &buf)
		out = buf.Bytes()
	case asCBOR:
		var buf bytes.Buffer
		err = cbor.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o, &buf)
		out = buf.Bytes()
	case asYAML:
		out, err = yaml.Marshal(o)
	default:
		out, err = json.Marshal(o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func zip(t testing.TB, body []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func theDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Name:            "web",
			Namespace:       "shop",
			UID:             "u1",
			ResourceVersion: "42",
			Generation:      3,
			Finalizers:      []string{"f"},
		},
		Spec: appsv1.DeploymentSpec{
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}},
		},
	}
}

// told has the checked fields of a response.
type told struct {
	Kind, Name, UID, Version string
	Generation               int64
}

func tell(a request.Body) told {
	return told{a.Kind, a.Metadata.Name, string(a.Metadata.UID), a.Metadata.ResourceVersion, a.Metadata.Generation}
}

func TestDecodeInEveryEncoding(t *testing.T) {
	object := told{"Deployment", "web", "u1", "42", 3}
	pod := func(name, version string) corev1.Pod {
		return corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version},
		}
	}
	list := &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "99"},
		Items: []corev1.Pod{pod("a", "1"), pod("b", "2")},
	}
	status := &metav1.Status{
		TypeMeta: metav1.TypeMeta{
			APIVersion: "v1",
			Kind:       "Status",
		},
		Status:  "Failure",
		Reason:  "Forbidden",
		Message: "no",
		Details: &metav1.StatusDetails{Name: "web", Kind: "deployments", Group: "apps", UID: "u1"},
	}
	for _, media := range []string{asJSON, asYAML, asCBOR, asProtobuf} {
		for _, zipped := range []bool{false, true} {
			name := media
			header := http.Header{"Content-Type": {media}}
			pack := func(b []byte) []byte { return b }
			if zipped {
				name += "+gzip"
				header.Set("Content-Encoding", "gzip")
				pack = func(b []byte) []byte { return zip(t, b) }
			}
			t.Run(name, func(t *testing.T) {
				got, err := decode(header, pack(encode(t, media, theDeployment())))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]told{object}, tellAll(got)); diff != "" {
					t.Errorf("object -want +got:\n%s", diff)
				}
				got, err = decode(header, pack(encode(t, media, list)))
				if err != nil {
					t.Fatal(err)
				}
				if n := len(got.Objects()); n != 2 || got.Metadata.Version() != 99 ||
					got.Objects()[1].Metadata.Name != "b" {
					t.Errorf("list: got %+v", got)
				}
				got, err = decode(header, pack(encode(t, media, status)))
				if err != nil {
					t.Fatal(err)
				}
				if got.Reason != "Forbidden" || got.Message != "no" || got.Details == nil || got.Details.UID != "u1" ||
					len(got.Objects()) != 0 {
					t.Errorf("status: got %+v", got)
				}
			})
		}
	}
}

func tellAll(a *request.Body) []told {
	var out []told
	for _, o := range a.Objects() {
		out = append(out, tell(o))
	}
	return out
}

func TestDecodeTable(t *testing.T) {
	body := `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"50"},"columnDefinitions":[],
	 "rows":[{"cells":["web"],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",` +
		`"metadata":{"name":"web","uid":"u1","resourceVersion":"42","generation":3}}}]}`
	got, err := decode(http.Header{"Content-Type": {asJSON + ";as=Table"}}, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]told{{"PartialObjectMetadata", "web", "u1", "42", 3}}, tellAll(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDecodeCustomResource: a custom resource may use the fields of lists and Statuses with any
// type.
func TestDecodeCustomResource(t *testing.T) {
	body := `{"apiVersion":"x.io/v1","kind":"Head","items":"none","rows":3,"reason":{},"message":[],"details":1,
	 "metadata":{"name":"h","uid":"u2","resourceVersion":"7"}}`
	got, err := decode(http.Header{"Content-Type": {asJSON}}, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]told{{"Head", "h", "u2", "7", 0}}, tellAll(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDryRunInTheBody(t *testing.T) {
	all := metav1.DeleteOptions{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		DryRun:   []string{"All"},
	}
	none := metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}}
	bare := metav1.DeleteOptions{DryRun: []string{"All"}}
	evict := &policyv1.Eviction{
		TypeMeta:      metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		DeleteOptions: &bare,
	}
	cases := map[string]struct {
		reason string
		body   runtime.Object
		want   bool
	}{
		"All":      {"a dry run may be requested in the body", &all, true},
		"None":     {"", &none, false},
		"Eviction": {"an eviction contains the options", evict, true},
	}
	for name, tc := range cases {
		for _, media := range []string{asJSON, asYAML, asCBOR, asProtobuf} {
			t.Run(name+"/"+media, func(t *testing.T) {
				if got := dryRun(http.Header{"Content-Type": {media}}, encode(t, media, tc.body)); got != tc.want {
					t.Errorf("got %v, want %v: %s", got, tc.want, tc.reason)
				}
			})
		}
	}
	if !dryRun(http.Header{"Content-Type": {asJSON}}, []byte(`{"dryRun":["All"]}`)) {
		t.Error("options without a kind: got false, want true")
	}
}

func FuzzDecode(f *testing.F) {
	for _, media := range []string{asJSON, asYAML, asCBOR, asProtobuf} {
		f.Add(media, "", encode(f, media, theDeployment()))
		f.Add(media, "gzip", zip(f, encode(f, media, theDeployment())))
	}
	f.Fuzz(func(_ *testing.T, media, encoding string, body []byte) {
		header := http.Header{"Content-Type": {media}, "Content-Encoding": {encoding}}
		if a, err := decode(header, body); err == nil {
			a.Objects()
		}
		dryRun(header, body)
	})
}
