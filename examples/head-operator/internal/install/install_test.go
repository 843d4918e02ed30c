// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// newCluster returns a fake API server that serves a kind from the second request on.
func newCluster(t *testing.T) client.Client {
	t.Helper()
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	if err := admissionregistrationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	return fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(
			ctx context.Context, in client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption,
		) error {
			err := in.Get(ctx, key, obj, opts...)
			if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok && asked[key.Name] {
				crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
					{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
				}
			}
			asked[key.Name] = true
			return err
		},
	}).Build()
}

func TestCRDs(t *testing.T) {
	c := newCluster(t)
	for range 2 { // the second installation changes nothing
		if err := CRDs(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	var list apiextensionsv1.CustomResourceDefinitionList
	if err := c.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, crd := range list.Items {
		got = append(got, crd.Name)
	}
	if diff := cmp.Diff([]string{"childas.demo.lifeline.dev", "heads.demo.lifeline.dev"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCRDsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := CRDs(ctx, newCluster(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("want the context's error, got %v", err)
	}
}

func TestWebhook(t *testing.T) {
	c := newCluster(t)
	if err := Webhook(t.Context(), c, "https://127.0.0.1:9443", []byte("PEM")); err != nil {
		t.Fatal(err)
	}
	var hooks admissionregistrationv1.MutatingWebhookConfiguration
	if err := c.Get(t.Context(), client.ObjectKey{Name: "head-operator"}, &hooks); err != nil {
		t.Fatal(err)
	}
	url := "https://127.0.0.1:9443/mutate-demo-lifeline-dev-v1alpha1-head"
	want := admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: []byte("PEM")}
	if diff := cmp.Diff(want, hooks.Webhooks[0].ClientConfig); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBaseRefused(t *testing.T) {
	for _, base := range []string{
		"", "127.0.0.1:9443", "http://127.0.0.1:9443", "https://", "https://h:1/path", "https://h:1?q", "https://h:x",
	} {
		c := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build()
		if err := Webhook(t.Context(), c, base, nil); err == nil {
			t.Errorf("Webhook accepted %q, which is not https://HOST:PORT", base)
		}
	}
}

func TestGenerateCert(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cert")
	ca, err := GenerateCert("https://127.0.0.1:9443", dir)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "127.0.0.1"}); err != nil {
		t.Errorf("the certificate does not match the host: %v", err)
	}
}
