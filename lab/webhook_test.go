// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/kube-lifeline/lifeline/lab/internal/pki"
)

// webhook is an admission webhook that notes the names of the ServiceAccounts
// it sees created, and admits them.
type webhook struct {
	server *httptest.Server
	mu     sync.Mutex
	seen   map[string]bool
}

// register serves the webhook with a certificate of the cluster's, and registers it. It is for
// Options.BeforeControllers.
func (w *webhook) register(ctx context.Context, c *Cluster) error {
	cert, key, ca, err := c.ServingCert()
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return err
	}
	w.seen = map[string]bool{}
	w.server = httptest.NewUnstartedServer(w)
	w.server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	w.server.StartTLS()
	_, err = c.RunKubectl(ctx, strings.NewReader(fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: lab-test}
webhooks:
- name: lab.test.lifeline.dev
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: %q, caBundle: %s}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [serviceaccounts], operations: [CREATE]}]
`, w.server.URL, base64.StdEncoding.EncodeToString(ca))), "apply", "-f", "-")
	if err != nil {
		return err
	}
	return w.await(ctx, c)
}

// await tries dry runs until the API server has learned of the webhook, which
// it does in its own time.
func (w *webhook) await(ctx context.Context, c *Cluster) error {
	for ctx.Err() == nil {
		if _, err := c.RunKubectl(ctx, nil, "create", "serviceaccount", "try", "--dry-run=server"); err != nil {
			return err
		}
		if w.saw("default/try") {
			return nil
		}
	}
	return ctx.Err()
}

func (w *webhook) saw(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[name]
}

func (w *webhook) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	var review struct {
		Request struct{ UID, Namespace, Name string }
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	w.seen[review.Request.Namespace+"/"+review.Request.Name] = true
	w.mu.Unlock()
	fmt.Fprintf(
		out,
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":true}}`,
		review.Request.UID,
	)
}

// TestWebhookReadyStart expects a webhook that was registered before the
// controllers start to see the first thing they create.
func TestWebhookReadyStart(t *testing.T) {
	slow(t)
	var hook webhook
	start(t, Options{Nodes: NodesNone, BeforeControllers: hook.register})
	t.Cleanup(hook.server.Close)
	if !hook.saw("default/default") {
		t.Errorf("the webhook saw %v, want default/default among them", hook.seen)
	}
}

func TestServingCert(t *testing.T) {
	authority, err := pki.New("test")
	if err != nil {
		t.Fatal(err)
	}
	cert, key, ca, err := (&Cluster{authority: authority}).ServingCert("hook.example.com")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "hook.example.com"}); err != nil {
		t.Errorf("the certificate must serve the host that was asked for: %v", err)
	}
}
