// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
)

// gate is the handler of the API's address from the start. Paths below /api are the API's: without the
// token they are refused, and without a store they get an error, so that clients need not wait. All
// other paths are the page's, which holds no data. Close closes the handler behind the gate.
type gate struct {
	// page serves the page; required.
	page http.Handler
	// metrics counts the errors; required.
	metrics api.Metrics
	// token admits requests; nil admits all.
	token *httpserve.Token

	mu     sync.RWMutex
	behind http.Handler
}

// open passes further requests to h.
func (g *gate) open(h http.Handler) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.behind = h
}

// answering is a check of health.
func (g *gate) answering() error {
	if g.handler() == nil {
		return errors.New("waiting for the first look and the archive")
	}
	return nil
}

func (g *gate) handler() http.Handler {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.behind
}

// ServeHTTP implements http.Handler.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api" && !strings.HasPrefix(r.URL.Path, "/api/") {
		g.page.ServeHTTP(w, r)
		return
	}
	if !g.token.Admits(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.Header().Set("Connection", "close") // a body stays unread
		api.Reject(w, http.StatusUnauthorized, "this server requires its token, as Authorization: Bearer TOKEN")
		g.metrics.Request("/", http.StatusUnauthorized)
		return
	}
	if h := g.handler(); h != nil {
		h.ServeHTTP(w, r)
		return
	}
	g.starting(w)
}

func (g *gate) starting(w http.ResponseWriter) {
	api.Reject(w, http.StatusServiceUnavailable,
		"lifeline serve is starting: it has not reached the cluster yet, or opens its archive; see its log")
	g.metrics.Request("/", http.StatusServiceUnavailable)
}

// before returns a handler of another listener, which passes requests to h once the gate is open.
func (g *gate) before(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.handler() == nil {
			g.starting(w)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Close implements io.Closer.
func (g *gate) Close() error {
	if c, ok := g.handler().(io.Closer); ok {
		return c.Close()
	}
	return nil
}
