// SPDX-License-Identifier: Apache-2.0

// Package clienttest has the API server of a cluster in front of a server, for tests.
package clienttest

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Token is the credential of the only user.
const Token = "the-token-of-a-user"

// State is that of the cluster.
type State struct {
	// Absent means that no APIService exists, and Away that it is not available: since that time for a user who may
	// read it.
	Absent, Away bool
	Since        time.Time
	// Forbidden means that the user has no right to the resource.
	Forbidden bool
	// Message, if any, is the answer of the program behind the APIService while the server is away, as JSON.
	Message string
}

// APIServer answers as the API server of a cluster with a server in it.
type APIServer struct {
	*httptest.Server

	t      testing.TB
	behind http.Handler

	mu      sync.Mutex
	state   State
	asked   []string
	streams []context.CancelFunc
}

// New starts an API server for the duration of a test. behind is the API of the server in the cluster.
func New(t testing.TB, behind http.Handler) *APIServer {
	t.Helper()
	a := &APIServer{t: t, behind: behind}
	a.Server = httptest.NewUnstartedServer(a)
	a.Server.Config.ErrorLog = log.New(io.Discard, "", 0)
	a.EnableHTTP2 = true
	a.StartTLS()
	t.Cleanup(func() {
		a.Cut()
		a.Close()
	})
	return a
}

// Config returns the client configuration of the user.
func (a *APIServer) Config(token string) *rest.Config {
	return &rest.Config{
		Host: a.URL, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: a.CA()},
	}
}

// CA returns the certificate authority of the API server, in PEM.
func (a *APIServer) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})
}

// Set changes the state.
func (a *APIServer) Set(s State) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = s
}

// Asked returns the requests so far, and forgets them.
func (a *APIServer) Asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.asked
	a.asked = nil
	return out
}

// Cut ends all running streams, as the API server does with a request that is too long.
func (a *APIServer) Cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, end := range a.streams {
		end()
	}
	a.streams = nil
}

const (
	groupVersion = "/apis/lifeline.dev/v1alpha1"
	visible      = groupVersion + "/visiblechanges"
)

// ServeHTTP implements http.Handler.
func (a *APIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	state := a.state
	a.asked = append(a.asked, r.Method+" "+r.URL.RequestURI())
	a.mu.Unlock()
	switch {
	case r.Header.Get("Authorization") != "Bearer "+Token:
		refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
	case r.URL.Path == "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.lifeline.dev":
		if state.Since.IsZero() {
			refuse(w, http.StatusForbidden, "Forbidden", "apiservices.apiregistration.k8s.io is forbidden")
			return
		}
		answer(w, http.StatusOK, map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
			"type": "Available", "status": "False", "lastTransitionTime": state.Since.Format(time.RFC3339),
		}}}})
	case !strings.HasPrefix(r.URL.Path, groupVersion) || state.Absent:
		http.Error(w, "404 page not found", http.StatusNotFound)
	case state.Forbidden && r.URL.Path != groupVersion:
		refuse(w, http.StatusForbidden, "Forbidden",
			`visiblechanges.lifeline.dev "-" is forbidden: User "dev" cannot get resource "visiblechanges/info"`)
	case state.Away && state.Message != "":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, state.Message)
	case state.Away:
		http.Error(w, "service unavailable", http.StatusServiceUnavailable)
	case r.URL.Path == groupVersion:
		answer(w, http.StatusOK, map[string]any{"kind": "APIResourceList", "groupVersion": "lifeline.dev/v1alpha1"})
	default:
		a.handOn(w, r)
	}
}

// handOn sends a request to the server, without the user's credentials.
func (a *APIServer) handOn(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	to := r.Clone(r.Context())
	switch path, named := strings.CutPrefix(r.URL.Path, visible+"/-/"); {
	case named:
		to.URL.Path = "/api/v1/" + path
	case r.URL.Path == visible && v.Get("watch") == "true":
		if to.URL.Path = "/api/v1/watch"; v.Get("stream") == "problems" {
			to.URL.Path = "/api/v1/problems/stream"
		}
		v.Del("watch")
		v.Del("stream")
		ctx, end := context.WithCancel(r.Context())
		defer end()
		a.mu.Lock()
		a.streams = append(a.streams, end)
		a.mu.Unlock()
		to = to.WithContext(ctx)
	default:
		refuse(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource")
		return
	}
	to.Header.Del("Authorization")
	to.Header.Set("X-Remote-User", "dev")
	to.URL.RawQuery = v.Encode()
	a.behind.ServeHTTP(w, to)
}

func answer(w http.ResponseWriter, code int, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(doc)
}

// refuse writes a Status, as the API server does.
func refuse(w http.ResponseWriter, code int, reason, message string) {
	answer(w, code, map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code,
	})
}
