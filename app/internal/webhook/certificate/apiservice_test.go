// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/x509"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"github.com/kube-lifeline/lifeline/app/internal/webhook/registration"
)

const apiService = "v1alpha1.lifeline.dev"

// aggregated returns an API server with our APIService.
func aggregated(ca string) *fake.FakeDynamicClient {
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{apiServices: "APIServiceList"},
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
			"metadata": map[string]any{
				"name": apiService, "resourceVersion": "7", "annotations": map[string]any{registration.CAKey: ca},
			},
			"spec": map[string]any{"group": "lifeline.dev", "version": "v1alpha1"},
		}})
}

// bundleOf returns the certificates that an APIService trusts.
func bundleOf(t *testing.T, c *fake.FakeDynamicClient) []*x509.Certificate {
	t.Helper()
	o, err := c.Resource(apiServices).Get(t.Context(), apiService, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := unstructured.NestedString(o.Object, "spec", "caBundle")
	bundle, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return readBundle(bundle)
}

// TestAPIService: the certificate is registered in an APIService before it is served, and one process that only reads
// the Secret has the same certificate and the same trust.
func TestAPIService(t *testing.T) {
	w, cluster := newWorld(t), aggregated(registration.CAManaged)
	o := w.options()
	o.Configuration, o.APIService, o.Dynamic, o.For, o.Clients = "", apiService, cluster, "API", true
	maker, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	follows := Options{Client: w.client, Namespace: "lifeline", Follow: true, Now: o.Now}
	follower, err := New(follows)
	if err != nil {
		t.Fatal(err)
	}
	if err := follower.step(t.Context()); err == nil || !strings.Contains(err.Error(), "no certificate yet") {
		t.Errorf("before the first certificate: %v", err)
	}
	check := func(when string) {
		t.Helper()
		step(t, maker, follower)
		leaf := served(t, maker)
		if !leaf.Equal(served(t, follower)) {
			t.Errorf("%s: the follower serves another certificate", when)
		}
		if !holds(bundleOf(t, cluster), leaf) {
			t.Errorf("%s: the API server does not trust the certificate", when)
		}
		for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			if _, err := leaf.Verify(x509.VerifyOptions{
				Roots: follower.Trusted(), CurrentTime: o.Now(), KeyUsages: []x509.ExtKeyUsage{usage},
			}); err != nil {
				t.Errorf("%s: use %d: %v", when, usage, err)
			}
		}
	}
	check("first")
	first := served(t, maker)
	if name := first.Subject.CommonName; name != "lifeline API" {
		t.Errorf("the subject is %q", name)
	}
	w.pass(61 * day)
	check("prepared")
	if !served(t, maker).Equal(first) {
		t.Error("the next certificate is served at once")
	}
	w.pass(2 * time.Minute)
	check("renewed")
	if served(t, maker).Equal(first) {
		t.Error("the next certificate is not served")
	}
}

// TestGivenAPIService: an APIService with authorities of the user stays as it is.
func TestGivenAPIService(t *testing.T) {
	w, cluster := newWorld(t), aggregated(registration.CAGiven)
	o := w.options()
	o.Configuration, o.APIService, o.Dynamic = "", apiService, cluster
	k, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	step(t, k)
	if got := bundleOf(t, cluster); got != nil {
		t.Errorf("%d certificates were written", len(got))
	}
}
