// SPDX-License-Identifier: Apache-2.0

package httpserve

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits of a listener of Serve.
const (
	// MaxConnections is the recommended limit of open connections; further connections wait.
	MaxConnections = 1024
	idleTimeout    = time.Minute
	// grace limits the time for running requests to finish at shutdown.
	grace = 5 * time.Second
)

// Serve serves responses for people and scrapers on ln until ctx ends: the API, metrics. If h is an
// io.Closer, Serve closes it at shutdown, to end its streams. Running requests may finish for a few
// seconds. Serve returns nil after all its goroutines have ended, or an error when ln fails. It
// closes ln.
func Serve(ctx context.Context, ln net.Listener, h http.Handler) error {
	var ending func() error
	if c, ok := h.(io.Closer); ok {
		ending = c.Close
	}
	return HTTP{
		Doing: "serve",
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength != 0 { // net/http reads an unread body after the response
				_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(HeaderTimeout))
			}
			h.ServeHTTP(w, r)
		}),
		Idle:     idleTimeout,
		Grace:    grace,
		Ending:   ending,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}.Serve(ctx, ln)
}
