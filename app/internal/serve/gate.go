// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"io"
	"net/http"
	"sync"
)

// gate is the API's handler from the start. Without a store it answers with an error, so that
// clients need not wait. Close closes the handler behind it.
type gate struct {
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
	if h := g.handler(); h != nil {
		h.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "2")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(
		w,
		`{"error":{"code":503,"message":"lifeline serve is starting: it has not reached the cluster yet, or `+
			`reads its store; see its log"}}`+"\n",
	)
}

// Close implements io.Closer.
func (g *gate) Close() error {
	if c, ok := g.handler().(io.Closer); ok {
		return c.Close()
	}
	return nil
}
