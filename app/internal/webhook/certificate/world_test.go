// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	"context"
	"crypto/x509"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kube-lifeline/lifeline/app/internal/webhook/registration"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const name = "lifeline-webhook.lifeline.svc"

// world is an API server with optimistic concurrency, and a clock.
type world struct {
	client *fake.Clientset
	mu     sync.Mutex
	now    time.Time
	log    bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{client: fake.NewClientset(), now: noon}
	version := 0
	w.client.PrependReactor("*", "secrets", func(a clienttesting.Action) (bool, runtime.Object, error) {
		tracker := w.client.Tracker()
		w.mu.Lock()
		defer w.mu.Unlock()
		version++
		switch a := a.(type) {
		case clienttesting.CreateActionImpl:
			a.Object.(*corev1.Secret).ResourceVersion = strconv.Itoa(version)
		case clienttesting.UpdateActionImpl:
			secret := a.Object.(*corev1.Secret)
			was, err := tracker.Get(a.Resource, a.Namespace, secret.Name)
			if err != nil {
				return true, nil, err
			}
			if was.(*corev1.Secret).ResourceVersion != secret.ResourceVersion {
				return true, nil, apierrors.NewConflict(a.Resource.GroupResource(), secret.Name, nil)
			}
			secret = secret.DeepCopy()
			secret.ResourceVersion = strconv.Itoa(version)
			return true, secret, tracker.Update(a.Resource, secret, a.Namespace)
		}
		return false, nil, nil
	})
	return w
}

func (w *world) install(t *testing.T, change func(*admissionregistrationv1.MutatingWebhookConfiguration)) {
	t.Helper()
	c := registration.Configuration(registration.Options{
		Name:      "lifeline",
		Namespace: "lifeline",
		Service: registration.Service{
			NamespacedName: types.NamespacedName{Namespace: "lifeline", Name: "lifeline-webhook"},
			Port:           443,
		},
		Observe: true,
	})
	c.ResourceVersion = "7"
	if change != nil {
		change(c)
	}
	if _, err := w.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), c,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) options() Options {
	return Options{
		Client: w.client, Namespace: "lifeline", Configuration: "lifeline", Names: []string{name},
		Log: slog.New(slog.NewTextHandler(&w.log, nil)),
		Now: func() time.Time {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.now
		},
	}
}

func (w *world) keeper(t *testing.T, names ...string) *Keeper {
	t.Helper()
	o := w.options()
	if len(names) > 0 {
		o.Names = names
	}
	k, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	s, err := w.client.CoreV1().Secrets("lifeline").Get(t.Context(), DefaultSecret, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) edit(t *testing.T, change func(*corev1.Secret)) {
	t.Helper()
	s := w.secret(t)
	change(s)
	if _, err := w.client.CoreV1().Secrets("lifeline").Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// calls reports whether the API server, as configured, accepts a keeper's certificate.
func (w *world) calls(t *testing.T, k *Keeper) bool {
	t.Helper()
	c, err := w.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "lifeline",
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, hook := range c.Webhooks {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(hook.ClientConfig.CABundle)
		if _, err := served(t, k).Verify(x509.VerifyOptions{
			DNSName: name, Roots: roots, CurrentTime: k.opts.Now(),
		}); err != nil {
			t.Logf("%s: %v", hook.Name, err)
			return false
		}
	}
	return true
}

func served(t *testing.T, k *Keeper) *x509.Certificate {
	t.Helper()
	c, err := k.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Leaf
}

func step(t *testing.T, keepers ...*Keeper) {
	t.Helper()
	for _, k := range keepers {
		if err := k.step(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}
