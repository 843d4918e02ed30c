// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// admission is a webhook for one namespace's ConfigMaps, which admits all and
// passes on the headers that it was asked with.
func admission(t *testing.T, namespace string) <-chan http.Header {
	t.Helper()
	cert, key, ca, err := bench.ServingCert()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan http.Header, 8)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Request struct {
				UID string `json:"uid"`
			} `json:"request"`
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		asked <- r.Header.Clone()
		fmt.Fprintf(
			w,
			`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":true}}`,
			review.Request.UID,
		)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	apply(t, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[1]s}
webhooks:
  - name: headers.e2e.lifeline.test
    clientConfig: {url: %[2]q, caBundle: %[3]s}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
`, namespace, server.URL, base64.StdEncoding.EncodeToString(ca)))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
		defer cancel()
		if out, err := bench.RunKubectl(ctx, nil, "delete", "validatingwebhookconfiguration", namespace); err != nil {
			t.Errorf("cannot remove the webhook: %v\n%s", err, out)
		}
	})
	return asked
}

// Baggage is the only carrier that every API server passes on to admission, for
// every caller.
func TestBaggageReachesAdmission(t *testing.T) {
	ns := bench.Namespace(t)
	grantEdit(t, ns, alice)
	bench.MustKubectl(t, "", "-n", ns, "wait", "--for=create", "configmap/kube-root-ca.crt", "--timeout=4m")
	asked := admission(t, ns)
	i := 0
	harness.Eventually(t, "a webhook that is asked", func() bool {
		i++
		bench.MustKubectl(t, "", "-n", ns, "create", "configmap", fmt.Sprintf("probe-%d", i))
		return len(asked) > 0
	})
	for user, config := range map[string]string{"trusted": bench.Kubeconfig(), "ordinary": bench.KubeconfigFor(alice)} {
		t.Run(user, func(t *testing.T) {
			for len(asked) > 0 {
				<-asked
			}
			r := harness.Parse(t, bench.Do(t, harness.Call{
				Args:       []string{"run", "-o", "json", "--", "kubectl", "-n", ns, "create", "configmap", user},
				Kubeconfig: config,
			}))
			if r.Code != 0 {
				t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
			}
			root := r.Traces[0].Find("run", "")[0]
			got, want := (<-asked).Get("Baggage"), "lifeline=00-"+root.Trace+"-"+root.ID+"-01"
			if !strings.Contains(got, want) {
				t.Errorf("baggage %q, want %q in it", got, want)
			}
		})
	}
}
