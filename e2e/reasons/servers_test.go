// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
)

// registry starts a registry that answers each request with that status, and returns its address.
func (p *play) registry(status int) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
	}))
	p.t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// refusingWebhook starts an admission webhook that refuses all Pods of the namespace, and returns its
// registration.
func (p *play) refusingWebhook() string {
	p.t.Helper()
	cert, key, ca, err := bench.Cluster.ServingCert()
	if err != nil {
		p.t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		p.t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(refuse))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	p.t.Cleanup(server.Close)
	client := fmt.Sprintf("clientConfig: {url: %q, caBundle: %s}", server.URL, base64.StdEncoding.EncodeToString(ca))
	const none = "clientConfig: {service: {namespace: NS, name: none}}"
	return strings.Replace(p.fill(webhook), p.fill(none), client, 1)
}

// refuse answers an AdmissionReview: no.
func refuse(w http.ResponseWriter, r *http.Request) {
	var review struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",`+
		`"response":{"uid":%q,"allowed":false,"status":{"message":"no Pods here"}}}`, review.Request.UID)
}

// refused runs kubectl in the namespace, and expects the API server to refuse its write.
func (p *play) refused(stdin string, args ...string) {
	p.t.Helper()
	for i := range args {
		args[i] = p.fill(args[i])
	}
	out, err := bench.Cluster.RunKubectl(
		p.t.Context(),
		strings.NewReader(stdin),
		append([]string{"-n", p.ns}, args...)...)
	if err == nil {
		p.t.Errorf("kubectl %s was not refused: %s", strings.Join(args, " "), out)
	}
}
