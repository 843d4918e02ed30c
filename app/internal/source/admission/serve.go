// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/listen"
)

// What one listener takes. The API server gives up after a second, and then ends
// the connection: nobody has to be waited for much longer.
const (
	// maxConnections is more than a few API servers use, each of which has as
	// many as it has writes under way.
	maxConnections = 1024
	readTimeout    = 5 * time.Second
	writeTimeout   = 10 * time.Second
	// idleTimeout is longer than that of the API server, so that it does not
	// send to a connection that is just being closed.
	idleTimeout = 2 * time.Minute
	// grace is how long requests under way may take when all is to end.
	grace = 2 * time.Second
)

// Listen begins to listen, for Serve. One connection too many is closed at once,
// which refused is told: a write that goes on without a context is better than one
// that waits for it. The API server speaks HTTP/1.1 to webhooks, so that its calls
// are spread over their replicas; nothing else is spoken.
func Listen(ctx context.Context, e listen.Endpoint, log *slog.Logger, refused func()) (net.Listener, error) {
	return e.Listen(ctx, listen.Purpose{
		Name:           "admission reviews",
		MaxConnections: maxConnections,
		Refused:        refused,
		Protocols:      []string{"http/1.1"},
		Log:            log,
	})
}

// Serve answers reviews on ln until ctx ends. Then it accepts no more, answers what
// is under way, and returns nil once everything that it started has ended; sooner,
// with an error, if ln fails. It closes ln. The log is told of clients that do not
// shake hands, and the like.
func (w *Webhook) Serve(ctx context.Context, ln net.Listener, log *log.Logger) error {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return listen.HTTP{
		Doing: "answer admission reviews", Handler: w, Protocols: &protocols, ErrorLog: log,
		Read: readTimeout, Write: writeTimeout, Idle: idleTimeout, Grace: grace,
	}.Serve(ctx, ln)
}
