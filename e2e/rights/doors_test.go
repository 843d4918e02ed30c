// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// serverOf is a server whose callers see what the cluster lets them see.
type serverOf struct {
	*harness.Server
	// aggregated is the address of its listener behind the API server.
	aggregated string
}

func serve(t *testing.T) serverOf {
	t.Helper()
	certFile, keyFile, _ := bench.CertFiles(t)
	s := serverOf{aggregated: harness.Free(t)}
	s.Server = serveWith(t, fmt.Sprintf(
		"  aggregation: {address: %q, frontProxy: true, tls: {certFile: %q, keyFile: %q}}\n",
		s.aggregated, certFile, keyFile))
	return s
}

// serveBehind starts a server to which the API server hands requests on.
func serveBehind(t *testing.T) serverOf {
	t.Helper()
	aggregation, register := bench.Aggregate(t)
	s := serverOf{Server: serveWith(t, aggregation)}
	register()
	return s
}

func serveWith(t *testing.T, aggregation string) *harness.Server {
	t.Helper()
	certFile, keyFile, _ := bench.CertFiles(t)
	s := bench.Server(t, harness.ServerOptions{Config: fmt.Sprintf(`api:
  authorization: kubernetes
  audit: true
  tls: {certFile: %q, keyFile: %q}
  authentication: {clientCAFile: %q}
%s`, certFile, keyFile, pki("ca.crt"), aggregation)})
	s.Start(t)
	return s
}

// pki returns the path of a file with a certificate or key of the cluster.
func pki(name string) string { return filepath.Join(bench.Dir(), "pki", name) }

// asker sends requests as one caller.
type asker struct {
	client *http.Client
	url    string
	header http.Header
}

// as returns a caller at an address, with a client certificate of the cluster or of another authority; nil means
// none.
func as(t *testing.T, address string, cert *tls.Certificate, header http.Header) asker {
	t.Helper()
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	config.InsecureSkipVerify = true // the test's own server
	if cert != nil {
		config.Certificates = []tls.Certificate{*cert}
	}
	transport := &http.Transport{TLSClientConfig: config}
	t.Cleanup(transport.CloseIdleConnections)
	return asker{&http.Client{Transport: transport}, "https://" + address, header}
}

// open sends a request. The caller closes the body.
func (a asker) open(t *testing.T, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range a.header {
		req.Header[name] = values
	}
	res, err := a.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func (a asker) get(t *testing.T, path string) (code int, body string) {
	t.Helper()
	got := a.ask(t, path)
	return got.code, got.body
}

// answer is an answer of a server. head has the headers, without those that differ for each request.
type answer struct {
	code       int
	head, body string
}

func (a asker) ask(t *testing.T, path string) answer {
	t.Helper()
	res := a.open(t, path)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{"Date", "Audit-Id", "Content-Length"} { // the length follows from the body
		res.Header.Del(own)
	}
	return answer{res.StatusCode, fmt.Sprint(res.Header), string(text)}
}

// want requires a status, and a text of the answer.
func (a asker) want(t *testing.T, path string, code int, text string) {
	t.Helper()
	if got, body := a.get(t, path); got != code || !strings.Contains(body, text) {
		t.Errorf("%s: got %d %.500s, want %d and %q", path, got, body, code, text)
	}
}

// client returns the certificate of a client of the cluster.
func client(t *testing.T, name string) *tls.Certificate {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(pki(name+".crt"), pki(name+".key"))
	if err != nil {
		t.Fatal(err)
	}
	return &cert
}

// admin returns the certificate of the administrator.
func admin(t *testing.T) *tls.Certificate {
	t.Helper()
	c, err := clientcmd.LoadFromFile(bench.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range c.AuthInfos {
		cert, err := tls.X509KeyPair(a.ClientCertificateData, a.ClientKeyData)
		if err != nil {
			t.Fatal(err)
		}
		return &cert
	}
	t.Fatal("the kubeconfig has no user")
	return nil
}

// forged returns a certificate with a name, of its own authority.
func forged(t *testing.T, name string) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	if err != nil {
		t.Fatal(err)
	}
	return &cert
}

// viewer makes a namespace with a change, and a ServiceAccount with a role there. It returns the namespace and a token.
func viewer(t *testing.T, role string) (namespace, token string) {
	t.Helper()
	namespace = bench.Namespace(t)
	bench.MustKubectl(t, "", "create", "serviceaccount", "ci", "-n", namespace)
	bench.MustKubectl(t, "", "create", "rolebinding", "ci", "-n", namespace, "--clusterrole="+role,
		"--serviceaccount="+namespace+":ci")
	bench.MustKubectl(t, roles, "apply", "-f", "-")
	bench.MustKubectl(t, "", "create", "deployment", "web", "--image=nginx", "-n", namespace)
	return namespace, tokenOf(t, namespace, "lifeline")
}

// tokenOf returns a token with an audience; empty means the API server's.
func tokenOf(t *testing.T, namespace, audience string) string {
	t.Helper()
	args := []string{"create", "token", "ci", "-n", namespace}
	if audience != "" {
		args = append(args, "--audience", audience)
	}
	return strings.TrimSpace(bench.MustKubectl(t, "", args...))
}

// roles are rights to changes, and to nothing else.
const roles = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: changes-viewer}
rules:
- apiGroups: [lifeline.dev]
  resources: [changes, changes/info, changes/document]
  verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: all-of-changes}
rules:
- apiGroups: [lifeline.dev]
  resources: [changes, changes/causes, changes/density, changes/document, changes/fields, changes/find, changes/groups,
    changes/info, changes/lifecycles, changes/problems, changes/sources, changes/spans, changes/tree, changes/why,
    changes/writes]
  verbs: [get, list, watch]
`

// listed reports whether a caller's list has the Deployment of a namespace. Another object is an error.
func (a asker) listed(t *testing.T, namespace string) bool {
	t.Helper()
	code, body := a.get(t, "/api/v1/traces")
	if code == http.StatusForbidden {
		return false // the namespace has no data yet
	}
	if code != http.StatusOK {
		t.Fatalf("got %d %s", code, body)
	}
	var page struct {
		Traces []struct {
			Object struct{ Kind, Namespace, Name string }
		}
	}
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, row := range page.Traces {
		own := row.Object.Kind == "Namespace" && row.Object.Name == namespace
		if row.Object.Namespace != namespace && !own {
			t.Errorf("the list has %+v", row.Object)
		}
		found = found || row.Object.Kind == "Deployment" && row.Object.Name == "web"
	}
	return found
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// TestTokens: a ServiceAccount's token counts with the audience lifeline, and shows what its roles permit.
func TestTokens(t *testing.T) {
	s := serve(t)
	namespace, token := viewer(t, "changes-viewer")
	other, _ := viewer(t, "changes-viewer")
	caller := as(t, s.APIAddress(), nil, bearer(token))
	harness.Eventually(t, "the list of "+namespace, func() bool { return caller.listed(t, namespace) })
	everyone := as(t, s.APIAddress(), admin(t), nil)
	harness.Eventually(t, "the change of "+other, func() bool {
		_, body := everyone.get(t, "/api/v1/traces")
		return strings.Contains(body, other) && strings.Contains(body, namespace)
	})
	if !caller.listed(t, namespace) {
		t.Error("the list has no Deployment any more")
	}
	caller.want(t, "/api/v1/traces/"+strings.Repeat("1", 32)+"/why", http.StatusForbidden,
		"may not get changes/why.lifeline.dev in any namespace with changes")
	as(t, s.APIAddress(), nil, bearer(tokenOf(t, namespace, ""))).want(t, "/api/v1/info", http.StatusUnauthorized,
		"never send a token of your kubeconfig here")
	as(t, s.APIAddress(), nil, bearer(token[:len(token)-4]+"AAAA")).want(t, "/api/v1/info", http.StatusUnauthorized,
		"the token is not accepted")
	as(t, s.APIAddress(), nil, nil).want(t, "/api/v1/info", http.StatusUnauthorized, "must know who you are")
	as(t, s.APIAddress(), nil, nil).want(t, "/", http.StatusOK, "<html")
	for _, word := range []string{token, tokenOf(t, namespace, "")[:40]} {
		if strings.Contains(s.Log(), word) {
			t.Error("the log has a token")
		}
	}
	if log := s.Log(); !strings.Contains(log, `"user":"system:serviceaccount:`+namespace+`:ci"`) ||
		!strings.Contains(log, `"right":"list changes"`) {
		t.Error("the log has no line for a read")
	}
	s.Stop(t)
}

// TestForgedHeaders: the headers of the API server count on their own listener, under its own certificate.
func TestForgedHeaders(t *testing.T) {
	s := serve(t)
	root := http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters", "system:authenticated"}}
	const list, behind = "/api/v1/traces", "/apis/lifeline.dev/v1alpha1/visiblechanges/-/traces"
	harness.Eventually(t, "the API server's own certificate", func() bool {
		code, _ := as(t, s.aggregated, client(t, "front-proxy-client"), root).get(t, behind)
		return code == http.StatusOK
	})
	nobody := http.Header{"X-Remote-User": {"nobody"}, "X-Remote-Group": {"system:authenticated"}}
	as(t, s.aggregated, client(t, "front-proxy-client"), nobody).want(t, behind, http.StatusForbidden,
		"nobody may not list changes.lifeline.dev")
	for name, cert := range map[string]*tls.Certificate{
		"none": nil, "another authority's": forged(t, "front-proxy-client"), "an administrator's": admin(t),
	} {
		t.Log("certificate:", name)
		as(t, s.aggregated, cert, root).want(t, behind, http.StatusUnauthorized, "")
	}
	as(t, s.APIAddress(), nil, root).want(t, list, http.StatusUnauthorized, "must know who you are")
	as(t, s.APIAddress(), forged(t, "front-proxy-client"), root).want(t, list, http.StatusUnauthorized,
		"the client certificate is not accepted")
	// The front proxy's certificate is one of the cluster's clients in this lab, without rights of its own.
	as(t, s.APIAddress(), client(t, "front-proxy-client"), root).want(t, list, http.StatusForbidden,
		"front-proxy-client may not list")
	s.Stop(t)
}

// TestRevoked: a stream ends within a minute after its right.
func TestRevoked(t *testing.T) {
	s := serve(t)
	namespace, token := viewer(t, "changes-viewer")
	caller := as(t, s.APIAddress(), nil, bearer(token))
	harness.Eventually(t, "the list of "+namespace, func() bool { return caller.listed(t, namespace) })
	res := caller.open(t, "/api/v1/watch")
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("got %d", res.StatusCode)
	}
	in := bufio.NewScanner(res.Body)
	in.Buffer(nil, 16<<20)
	for in.Scan() && in.Text() != "event: synced" {
	}
	bench.MustKubectl(t, "", "delete", "rolebinding", "ci", "-n", namespace)
	revoked := time.Now()
	for in.Scan() {
	}
	if took := time.Since(revoked); took > time.Minute {
		t.Errorf("the stream ended after %s", took)
	} else {
		t.Logf("the stream ended after %s", took)
	}
	caller.want(t, "/api/v1/traces", http.StatusForbidden, "may not list changes.lifeline.dev")
	s.Stop(t)
}

// TestUnreachable: without the API server, a caller without a recent decision sees nothing, and is told why.
func TestUnreachable(t *testing.T) {
	s := serve(t)
	namespace, token := viewer(t, "changes-viewer")
	caller := as(t, s.APIAddress(), nil, bearer(token))
	harness.Eventually(t, "the list of "+namespace, func() bool { return caller.listed(t, namespace) })
	everyone := as(t, s.APIAddress(), admin(t), nil)
	if err := bench.Pause(lab.APIServer); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	everyone.want(t, "/api/v1/density", http.StatusServiceUnavailable,
		"the API server has not decided what you may see, so nothing is shown: no answer within 3s")
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("the answer took %s", took)
	}
	if err := bench.Resume(lab.APIServer); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "a decision again", func() bool {
		code, _ := everyone.get(t, "/api/v1/density")
		return code == http.StatusOK
	})
	s.Stop(t)
}
