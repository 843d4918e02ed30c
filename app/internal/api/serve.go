// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/listen"
)

// What one listener takes.
const (
	// MaxConnections is how many connections a listener of Serve should have at
	// the same time; further ones wait.
	MaxConnections = 1024
	idleTimeout    = time.Minute
	// grace is how long requests under way may take when all is to end.
	grace = 5 * time.Second
)

// Serve answers requests on ln with h until ctx ends. Then it accepts no more,
// closes h if that is an io.Closer, as a Server is, to end streams, lets
// requests under way finish for a few seconds, ends what is left, and returns
// nil once everything that it started has ended; sooner, with an error, if ln
// fails. It closes ln. The caller bounds the connections of ln: MaxConnections.
func Serve(ctx context.Context, ln net.Listener, h http.Handler) error {
	var ending func() error
	if c, ok := h.(io.Closer); ok {
		ending = c.Close
	}
	return listen.HTTP{
		Doing: "serve",
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength != 0 { // nobody here reads a body, but net/http does after the answer
				_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(listen.HeaderTimeout))
			}
			h.ServeHTTP(w, r)
		}),
		Idle:     idleTimeout,
		Grace:    grace,
		Ending:   ending,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}.Serve(ctx, ln)
}
