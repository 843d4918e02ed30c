// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/page"
)

func TestGate(t *testing.T) {
	m, metrics := noMetrics()
	g := gate{metrics: m.api, page: page.Handler()}
	ask := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/info", nil))
		return w
	}
	if w := ask(); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" ||
		!strings.Contains(w.Body.String(), `"code":503`) {
		t.Errorf("before the start: %d %v %s, want 503 with Retry-After", w.Code, w.Header(), w.Body)
	}
	shows(t, metrics, `lifeline_api_requests_total{code="503",path="/"} 1`)
	if err := g.Close(); err != nil {
		t.Errorf("a gate with nothing behind it cannot be closed: %v", err)
	}
	g.open(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	if w := ask(); w.Code != http.StatusTeapot {
		t.Errorf("afterwards: %d, want the handler's answer", w.Code)
	}
}

// TestGateToken: the page asks for the token itself, so its files must not need it.
func TestGateToken(t *testing.T) {
	token, err := httpserve.Endpoint{
		Address:   "127.0.0.1:0",
		TokenFile: tokenFile(t),
	}.Token(httpserve.Purpose{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := noMetrics()
	g := gate{metrics: m.api, page: page.Handler(), token: token}
	g.open(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for path, want := range map[string]int{
		"/":             http.StatusOK,
		"/index.js":     http.StatusOK,
		"/trace/0123":   http.StatusOK,
		"/api":          http.StatusUnauthorized,
		"/api/":         http.StatusUnauthorized,
		"/api/v1/info":  http.StatusUnauthorized,
		"/api/services": http.StatusUnauthorized,
	} {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s without the token: %d, want %d", path, w.Code, want)
		}
	}
}
