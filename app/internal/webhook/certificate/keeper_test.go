// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kube-lifeline/lifeline/app/internal/webhook/registration"
)

const day = 24 * time.Hour

func TestNew(t *testing.T) {
	for title, tc := range map[string]struct {
		reason string
		change func(*Options)
		err    string
	}{
		"valid": {
			"an address is a name, too", func(o *Options) { o.Names = []string{"a.b", "::1", "192.0.2.1"} }, "",
		},
		"no cluster": {"", func(o *Options) { o.Client = nil }, "name TLS files instead"},
		"namespace":  {"", func(o *Options) { o.Namespace = "" }, `of namespace ""`},
		"no name":    {"", func(o *Options) { o.Names = nil }, "for 0 names"},
		"names":      {"bounded", func(o *Options) { o.Names = make([]string, 21) }, "for 21 names"},
		"bad name":   {"escaped", func(o *Options) { o.Names = []string{"a\x1b"} }, `"a\x1b": it is neither`},
	} {
		o := newWorld(t).options()
		tc.change(&o)
		_, err := New(o)
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %s: %v", title, tc.reason, err)
		}
	}
}

// TestFirst: the first certificate.
func TestFirst(t *testing.T) {
	w := newWorld(t)
	k := w.keeper(t, name, "192.0.2.1")
	if _, err := k.GetCertificate(nil); err == nil || !strings.Contains(err.Error(), "no certificate yet") {
		t.Errorf("before: %v", err)
	}
	step(t, k) // without a configuration
	<-k.Ready()
	secret := w.secret(t)
	if secret.Type != corev1.SecretTypeTLS || len(secret.Data) != 3 {
		t.Errorf("the Secret is %v", secret)
	}
	w.install(t, nil)
	step(t, k)
	leaf := served(t, k)
	if !w.calls(t, k) || leaf.IsCA || leaf.VerifyHostname("192.0.2.1") != nil ||
		!leaf.NotAfter.Equal(noon.Add(90*day)) {
		t.Errorf("it serves %v until %v", leaf.DNSNames, leaf.NotAfter)
	}
	w.client.ClearActions()
	step(t, k, k)
	for _, a := range w.client.Actions() {
		if a.GetVerb() != "get" {
			t.Errorf("with nothing to do, it does %s %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
}

// TestRenewal: at every moment the API server accepts the certificate of every server, even of slow
// ones.
func TestRenewal(t *testing.T) {
	w := newWorld(t)
	w.install(t, nil)
	quick, slow := w.keeper(t), w.keeper(t)
	step(t, quick, slow)
	first := served(t, quick)
	check := func(when string, renewed bool) {
		t.Helper()
		if !w.calls(t, quick) || !w.calls(t, slow) {
			t.Errorf("%s: a call fails", when)
		}
		if served(t, quick).Equal(first) == renewed {
			t.Errorf("%s: renewed is %t", when, !renewed)
		}
	}
	w.pass(60*day - time.Second)
	step(t, quick)
	check("before two thirds", false)
	if _, there := w.secret(t).Data[nextCertKey]; there {
		t.Error("another is to come too early")
	}
	w.pass(time.Second)
	step(t, quick)
	check("trusted, and not served", false)
	if _, there := w.secret(t).Data[nextCertKey]; !there {
		t.Error("no other is to come")
	}
	w.pass(59 * time.Second)
	step(t, quick)
	check("not settled", false)
	w.pass(time.Second)
	step(t, quick)
	check("settled", true)
	step(t, slow, quick)
	check("all", true)
	if !served(t, slow).Equal(served(t, quick)) {
		t.Error("they serve different ones")
	}
	if n := len(readBundle(w.secret(t).Data[trustedKey])); n != 2 {
		t.Errorf("%d certificates are trusted, want the previous one, too", n)
	}
	w.pass(30 * day)
	step(t, quick)
	if n := len(readBundle(w.secret(t).Data[trustedKey])); n != 1 {
		t.Errorf("%d certificates are trusted after the end of the previous one", n)
	}
	check("after the end of the one before", true)
	if first.SerialNumber.Cmp(served(t, quick).SerialNumber) == 0 {
		t.Error("it has the same number")
	}
}

// TestUntoldIsNotServed: while the API server cannot be given the next certificate, the current one
// is served, until its end.
func TestUntoldIsNotServed(t *testing.T) {
	w := newWorld(t)
	w.install(t, nil)
	k := w.keeper(t)
	step(t, k)
	first := served(t, k)
	denied := true
	w.client.PrependReactor("patch", "mutatingwebhookconfigurations",
		func(clienttesting.Action) (bool, runtime.Object, error) {
			return denied, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "mutatingwebhookconfigurations"},
				"lifeline", errors.New("no right"))
		})
	w.pass(61 * day)
	for range 3 {
		if err := k.step(t.Context()); err == nil ||
			!strings.Contains(err.Error(),
				"cannot write the webhook's certificate into MutatingWebhookConfiguration lifeline") {
			t.Errorf("the error is %v", err)
		}
		w.pass(time.Hour)
	}
	if !served(t, k).Equal(first) || !w.calls(t, k) {
		t.Error("a certificate that the API server does not trust is served")
	}
	w.pass(40 * day)
	_ = k.step(t.Context())
	if served(t, k).Equal(first) {
		t.Error("an expired certificate is served")
	}
	denied = false
	step(t, k)
	if !w.calls(t, k) {
		t.Error("it does not come right")
	}
}

// TestHurtSecrets: after any damage to the Secret, calls succeed again after one step.
func TestHurtSecrets(t *testing.T) {
	for title, tc := range map[string]struct {
		reason  string
		hurt    func(*testing.T, *world)
		kept    bool
		trusted int
	}{
		"untouched": {"", func(*testing.T, *world) {}, true, 1},
		"deleted": {"a new key, and the old one is not trusted any more: this replaces a stolen key",
			func(t *testing.T, w *world) {
				_ = w.client.CoreV1().Secrets("lifeline").Delete(t.Context(), DefaultSecret, metav1.DeleteOptions{})
			}, false, 1},
		"no data": {
			"", func(t *testing.T, w *world) { w.edit(t, func(s *corev1.Secret) { s.Data = nil }) }, false, 1,
		},
		"no key": {
			"", func(t *testing.T, w *world) {
				w.edit(t, func(s *corev1.Secret) { delete(s.Data, "tls.key") })
			}, false, 2,
		},
		"broken": {
			"", func(t *testing.T, w *world) {
				w.edit(t, func(s *corev1.Secret) { s.Data["tls.crt"] = []byte("x") })
			}, false, 2,
		},
		"no authorities": {
			"", func(t *testing.T, w *world) {
				w.edit(t, func(s *corev1.Secret) { s.Data["ca.crt"] = []byte("x") })
			}, true, 1,
		},
		"others": {
			"a certificate of another kind is not served", func(t *testing.T, w *world) { w.edit(t, foreign) },
			false, 2,
		},
		"bad next": {
			"the next certificate is checked, too", func(t *testing.T, w *world) {
				w.edit(t, func(s *corev1.Secret) { s.Data[nextCertKey] = []byte("x") })
			}, true, 1,
		},
		"has ended": {"", func(_ *testing.T, w *world) { w.pass(91 * day) }, false, 1},
		"in future": {"the clock went back", func(_ *testing.T, w *world) { w.pass(-2 * time.Hour) }, false, 2},
		"other names": {
			"another configuration", func(t *testing.T, w *world) { step(t, w.keeper(t, "elsewhere.svc")) }, false, 2,
		},
	} {
		t.Run(title, func(t *testing.T) {
			w := newWorld(t)
			w.install(t, nil)
			k := w.keeper(t)
			step(t, k)
			first := served(t, k)
			tc.hurt(t, w)
			step(t, k)
			if kept := served(t, k).Equal(first); kept != tc.kept || !w.calls(t, k) {
				t.Errorf("%s: kept is %t", tc.reason, kept)
			}
			if n := len(readBundle(w.secret(t).Data[trustedKey])); n != tc.trusted {
				t.Errorf("%s: %d certificates are trusted, want %d", tc.reason, n, tc.trusted)
			}
		})
	}
}

// foreign replaces the certificate by one that an authority has signed.
func foreign(s *corev1.Secret) {
	key, _ := rsa.GenerateKey(rand.Reader, 2048)
	other, _ := rsa.GenerateKey(rand.Reader, 2048)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: noon.Add(-time.Hour),
		NotAfter: noon.Add(80 * day),
	}
	der, _ := x509.CreateCertificate(rand.Reader, template, &x509.Certificate{SerialNumber: big.NewInt(2)},
		key.Public(), other)
	s.Data["tls.crt"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	s.Data["tls.key"] = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

// TestNotOurs: a foreign Secret is not written, nor is a configuration with authorities from
// another source.
func TestNotOurs(t *testing.T) {
	w := newWorld(t)
	w.install(t, func(c *admissionregistrationv1.MutatingWebhookConfiguration) {
		c.Annotations[registration.CAKey] = registration.CAGiven
	})
	k := w.keeper(t)
	step(t, k)
	if c, err := w.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "lifeline",
		metav1.GetOptions{}); err != nil || c.Webhooks[0].ClientConfig.CABundle != nil {
		t.Errorf("authorities were written: %v", err)
	}
	w.edit(t, func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque })
	if err := w.keeper(t).step(t.Context()); err == nil || !strings.Contains(err.Error(), "another owner") {
		t.Errorf("of another type: %v", err)
	}
}

// TestRace: servers that start or renew at the same time agree.
func TestRace(t *testing.T) {
	w := newWorld(t)
	w.install(t, nil)
	var keepers []*Keeper
	for range 8 {
		o := w.options()
		o.Log = nil
		k, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		keepers = append(keepers, k)
	}
	// Servers in conflict agree at the next step.
	together := func() {
		for range 3 {
			var all sync.WaitGroup
			for _, k := range keepers {
				all.Go(func() { _ = k.step(context.Background()) })
			}
			all.Wait()
		}
		for _, k := range keepers {
			if !served(t, k).Equal(served(t, keepers[0])) || !w.calls(t, k) {
				t.Error("they do not agree")
			}
		}
	}
	together()
	first := served(t, keepers[0])
	w.pass(61 * day)
	together()
	w.pass(time.Hour)
	together()
	if served(t, keepers[0]).Equal(first) {
		t.Error("it is not renewed")
	}
}

// TestNamesAgree: servers with different configurations do not undo each other's changes.
func TestNamesAgree(t *testing.T) {
	w := newWorld(t)
	a, b := w.keeper(t, "a.svc"), w.keeper(t, "b.svc")
	step(t, a, b, a, b)
	if !served(t, a).Equal(served(t, b)) || served(t, a).VerifyHostname("a.svc") != nil ||
		served(t, a).VerifyHostname("b.svc") != nil {
		t.Errorf("they serve %v and %v", served(t, a).DNSNames, served(t, b).DNSNames)
	}
	last := w.secret(t).ResourceVersion
	step(t, a, b, a, b)
	if w.secret(t).ResourceVersion == "" || string(w.secret(t).Data["tls.crt"]) != string(a.cert) {
		t.Errorf("the bundle of version %s is replaced", last)
	}
}

// TestRun: an unreachable cluster is retried and logged once. A handshake works afterwards.
func TestRun(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	down, tries := true, 0
	w.client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		tries++
		if tries > 3 {
			down = false
		}
		return down, nil, errors.New("connection refused")
	})
	o := w.options()
	o.Every = time.Millisecond
	k, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- k.Run(ctx) }()
	<-k.Ready()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		GetCertificate: k.GetCertificate, MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		if c, err := ln.Accept(); err == nil {
			_ = c.(*tls.Conn).Handshake()
			_ = c.Close()
		}
	}()
	roots := x509.NewCertPool()
	roots.AddCert(served(t, k))
	c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{
		RootCAs: roots, ServerName: name, Time: func() time.Time { return noon },
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	<-accepted
	_ = ln.Close()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := strings.Count(w.log.String(), "connection refused"); n != 1 {
		t.Errorf("the error is logged %d times:\n%s", n, &w.log)
	}
}
