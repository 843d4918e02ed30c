// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"io"
	"net/http"
	"sync"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
)

// gate is the API's handler from the start. It refuses requests without the token. Without a store it
// answers with an error, so that clients need not wait. Close closes the handler behind it.
type gate struct {
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

func (g *gate) handler() http.Handler {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.behind
}

// ServeHTTP implements http.Handler.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	api.Reject(w, http.StatusServiceUnavailable,
		"lifeline serve is starting: it has not reached the cluster yet, or opens its archive; see its log")
	g.metrics.Request("/", http.StatusServiceUnavailable)
}

// Close implements io.Closer.
func (g *gate) Close() error {
	if c, ok := g.handler().(io.Closer); ok {
		return c.Close()
	}
	return nil
}
