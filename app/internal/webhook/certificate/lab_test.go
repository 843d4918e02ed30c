// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-lifeline/lifeline/app/internal/webhook"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/registration"
)

// TestOnARealCluster runs two keepers with a certificate of twelve seconds through several
// renewals, on the API server of KUBECONFIG. Of the API server's calls none may fail, except around
// the Secret's deletion. It needs a cluster for itself: LIFELINE_WEBHOOK_CLUSTER=1.
func TestOnARealCluster(t *testing.T) {
	if os.Getenv("LIFELINE_WEBHOOK_CLUSTER") == "" {
		t.Skip("LIFELINE_WEBHOOK_CLUSTER is not set: this installs a webhook in the cluster of KUBECONFIG")
	}
	if testing.Short() {
		t.Skip("slow: make test-all runs it")
	}
	conf, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	conf.QPS, conf.Burst = 100, 100
	over, err := rest.HTTPClientFor(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(over.Transport) })
	client, err := kubernetes.NewForConfigAndClient(conf, over)
	if err != nil {
		t.Fatal(err)
	}
	const name, namespace = "lifeline-kept", "default"
	forget := func() {
		_ = client.CoreV1().Secrets(namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
		_ = client.CoreV1().ConfigMaps(namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
	}
	forget()
	t.Cleanup(forget)
	ctx, stop := context.WithCancel(t.Context())
	var keepers []*Keeper
	ended := make(chan error, 2)
	for range 2 {
		k, err := New(Options{
			Client: client, Namespace: namespace, Secret: name, Configuration: name, Names: []string{"localhost"},
			Life: 12 * time.Second, Every: 300 * time.Millisecond, Settle: time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		keepers = append(keepers, k)
		go func() { ended <- k.Run(ctx) }()
		<-k.Ready()
	}
	defer func() {
		stop()
		for range keepers {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}()
	var calls, turn atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &review); err != nil || review.Request == nil {
			return // the caller has given up
		}
		calls.Add(1)
		review.Response, review.Request = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}, nil
		w.Header().Set("Connection", "close") // one handshake per call
		_ = json.NewEncoder(w).Encode(review)
	}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true,
		GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return keepers[turn.Add(1)%2].GetCertificate(h)
		}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // errors from the Secret's deletion
	server.StartTLS()
	defer server.Close()
	install := &registration.Install{REST: conf, Out: io.Discard, Options: registration.Options{
		Name: name, Namespace: "lifeline", URL: "https://localhost:" + server.URL[len("https://127.0.0.1:"):] +
			webhook.Path,
	}}
	if code, err := install.Run(ctx); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	t.Cleanup(func() {
		_, _ = (&registration.Uninstall{Name: name, REST: conf, Out: io.Discard}).Run(context.Background())
	})
	m, err := client.CoreV1().ConfigMaps(namespace).Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// write changes the ConfigMap once, and reports whether the webhook was called.
	write := func() bool {
		before := calls.Load()
		m.Data = map[string]string{"at": time.Now().String()}
		if m, err = client.CoreV1().ConfigMaps(namespace).Update(ctx, m, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		return calls.Load() > before
	}
	until := func(what string) {
		t.Helper()
		began := time.Now()
		for !write() {
			if time.Since(began) > 30*time.Second {
				t.Fatalf("%s: it is not called", what)
			}
		}
		t.Logf("%s: it is called after %s", what, time.Since(began).Round(time.Millisecond))
	}
	until("installed")
	time.Sleep(time.Second) // until the API server uses both webhooks
	first := served(t, keepers[0])
	writes, missed, renewed := 0, 0, 0
	for last, end := first, time.Now().Add(40*time.Second); time.Now().Before(end); writes++ {
		if !write() {
			missed++
		}
		if now := served(t, keepers[0]); !now.Equal(last) {
			renewed, last = renewed+1, now
		}
	}
	t.Logf("of %d writes through %d renewals %d caused no request", writes, renewed, missed)
	if missed > 0 || renewed < 3 {
		t.Errorf("%d missed, %d renewals", missed, renewed)
	}
	if err := client.CoreV1().Secrets(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil &&
		!apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	until("its Secret was deleted")
}
