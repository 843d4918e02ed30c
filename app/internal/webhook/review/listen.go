// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
)

// Limits of one listener. The API server closes the connection after a timeout of one second, so
// longer waits are useless.
const (
	// maxConnections is more than a few API servers use. Each has one connection per write in
	// progress.
	maxConnections = 1024
	readTimeout    = 5 * time.Second
	writeTimeout   = 10 * time.Second
	// idleTimeout is longer than the API server's, so that the API server does not send on a
	// closing connection.
	idleTimeout = 2 * time.Minute
	// grace limits the time for requests in progress to finish during shutdown.
	grace = 2 * time.Second
)

// Listen returns a listener for Serve. A connection above the limit is closed at once, and refused
// is called: a write without a context is better than a waiting write. Only HTTP/1.1 is served, so
// that the API server's calls spread over the webhook's replicas. log may be nil.
func Listen(ctx context.Context, e httpserve.Endpoint, log *slog.Logger, refused func()) (net.Listener, error) {
	return e.Listen(ctx, httpserve.Purpose{
		Name:           "admission reviews",
		MaxConnections: maxConnections,
		Refused:        refused,
		Protocols:      []string{"http/1.1"},
		Log:            log,
	})
}

// Serve responds to reviews on ln until ctx ends. It then finishes the requests in progress and
// returns nil after all its goroutines have ended. If ln fails, it returns early with an error. It
// closes ln. log receives connection errors such as failed TLS handshakes.
func (h *Handler) Serve(ctx context.Context, ln net.Listener, log *log.Logger) error {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return httpserve.HTTP{
		Doing: "answer admission reviews", Handler: h, Protocols: &protocols, ErrorLog: log,
		Read: readTimeout, Write: writeTimeout, Idle: idleTimeout, Grace: grace,
	}.Serve(ctx, ln)
}
