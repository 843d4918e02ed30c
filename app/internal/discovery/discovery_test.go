// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve/httpservetest"
	"github.com/kube-lifeline/lifeline/app/internal/kubeapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// shared is the certificate of both sides.
type shared struct {
	cert tls.Certificate
	pool *x509.CertPool
}

func (s *shared) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &s.cert, nil }
func (s *shared) Trusted() *x509.CertPool                                       { return s.pool }

func newShared(t *testing.T) *shared {
	t.Helper()
	ca := httpservetest.New(t)
	files := ca.Files(t, nil)
	cert, err := tls.LoadX509KeyPair(files.CertFile, files.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.PEM())
	return &shared{cert, pool}
}

// server answers with a function, over TLS with a client certificate, and counts the requests.
func server(t *testing.T, with *shared, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(answer)
	srv.TLS = &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{with.cert}, ClientAuth: tls.RequireAnyClientCert,
	}
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

// jane sends requests through the API server; others do not.
func jane(r *http.Request) (*authenticator.Response, bool, error) {
	switch r.Header.Get("Test") {
	case "jane":
		return &authenticator.Response{User: &user.DefaultInfo{
			Name: "jane", UID: "u-1", Groups: []string{"dev", "system:authenticated"},
			Extra: map[string][]string{"example.com/team": {"shop"}},
		}}, true, nil
	case "bad":
		return nil, false, errors.New("x509: signed by unknown authority")
	}
	return nil, false, nil
}

// front starts the handler in front of a server.
func front(t *testing.T, at string, with *shared) *httptest.Server {
	t.Helper()
	to, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	f := newForwarder(to, "127.0.0.1", "lifeline", with, func() time.Time { return noon },
		slog.New(slog.DiscardHandler))
	srv := httptest.NewServer(handler(authenticator.RequestFunc(jane), f))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
		f.proxy.Transport.(*http.Transport).CloseIdleConnections()
	})
	return srv
}

func get(t *testing.T, at *httptest.Server, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := at.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// TestForward: the server gets the caller that the API server has authenticated, and nothing that a client says about
// itself.
func TestForward(t *testing.T) {
	with := newShared(t)
	var got http.Header
	var uri string
	to := server(t, with, func(w http.ResponseWriter, r *http.Request) {
		got, uri = r.Header.Clone(), r.URL.RequestURI()
		_, _ = io.WriteString(w, "answer")
	})
	res, body := get(t, front(t, to.URL, with), kubeapi.Root+"/namespaces/shop/changes?limit=5", "Test", "jane",
		"X-Remote-User", "admin", "X-Remote-Group", "system:masters", "X-Remote-Extra-Scopes", "all",
		"X-Remote-Uid", "0",
		"X-Custom-User", "admin", "Authorization", "Bearer secret", "Accept", "application/json")
	if res.StatusCode != http.StatusOK || body != "answer" || uri != kubeapi.Root+"/namespaces/shop/changes?limit=5" {
		t.Fatalf("%d %q for %s", res.StatusCode, body, uri)
	}
	for name, want := range map[string]string{
		"X-Remote-User": "jane", "X-Remote-Group": "dev,system:authenticated", "X-Remote-Uid": "u-1",
		"X-Remote-Extra-Scopes": "", "X-Remote-Extra-Example.com%2fteam": "shop", "X-Custom-User": "",
		"Authorization": "",
		"Accept":        "application/json",
	} {
		if v := strings.Join(got.Values(name), ","); v != want {
			t.Errorf("%s is %q, want %q", name, v, want)
		}
	}
}

// TestCallers: documents are for all clients; resources are for the API server's callers only.
func TestCallers(t *testing.T) {
	with, asked := newShared(t), 0
	to := server(t, with, func(http.ResponseWriter, *http.Request) { asked++ })
	at := front(t, to.URL, with)
	for _, tc := range []struct {
		path, test string
		code       int
	}{
		{kubeapi.Root, "", 200},
		{"/openapi/v3", "bad", 200},
		{"/healthz", "jane", 404},
		{kubeapi.Root + "/changes", "", 401},
		{kubeapi.Root + "/changes", "bad", 401},
		{kubeapi.Root + "/visiblechanges/-/info", "", 401},
	} {
		if res, body := get(t, at, tc.path, "Test", tc.test); res.StatusCode != tc.code {
			t.Errorf("%s as %q: %d %s", tc.path, tc.test, res.StatusCode, body)
		}
	}
	if asked != 0 {
		t.Errorf("the server got %d requests", asked)
	}
}

// TestAway: without the server, or with another one in its place, discovery stays and the rest is 503.
func TestAway(t *testing.T) {
	with, other := newShared(t), newShared(t)
	down := server(t, with, func(http.ResponseWriter, *http.Request) {})
	down.Close()
	for name, at := range map[string]string{
		"down": down.URL, "another": server(t, other, func(http.ResponseWriter, *http.Request) {}).URL,
	} {
		f := front(t, at, with)
		if res, _ := get(t, f, kubeapi.Root); res.StatusCode != http.StatusOK {
			t.Errorf("%s: discovery: %d", name, res.StatusCode)
		}
		res, body := get(t, f, kubeapi.Root+"/namespaces/shop/changes", "Test", "jane")
		var status metav1.Status
		err := json.Unmarshal([]byte(body), &status)
		if err != nil || res.StatusCode != http.StatusServiceUnavailable ||
			status.Kind != "Status" || status.Reason != metav1.StatusReasonServiceUnavailable ||
			!strings.Contains(status.Message, "has not answered since 2026-03-01T12:00:00Z") ||
			status.Details.RetryAfterSeconds != 5 {
			t.Errorf("%s: %d %s, %v", name, res.StatusCode, body, err)
		}
		if _, body := get(t, f, kubeapi.Root+"/visiblechanges/-/info", "Test", "jane"); !strings.HasPrefix(body,
			`{"error":{"code":503,"message":"the server of Lifeline has not answered since`) {
			t.Errorf("%s: a path of the API gets %s", name, body)
		}
	}
}

// TestStream: a stream passes event by event, and ends with its client.
func TestStream(t *testing.T) {
	with, ended := newShared(t), make(chan struct{})
	more := make(chan struct{})
	to := server(t, with, func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		for {
			_, _ = io.WriteString(w, "event\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-more:
			case <-r.Context().Done():
				return
			}
		}
	})
	at := front(t, to.URL, with)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.URL+kubeapi.Root+"/changes?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Test", "jane")
	res, err := at.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(res.Body)
	for range 2 {
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		more <- struct{}{}
	}
	_ = res.Body.Close()
	<-ended
}
