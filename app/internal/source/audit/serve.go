// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
)

// Limits of one listener.
const (
	maxConnections = 64 // a cluster has few API servers
	writeTimeout   = time.Minute
	idleTimeout    = 2 * time.Minute
	// grace limits the time for requests in progress to finish during shutdown.
	grace = 10 * time.Second
)

// Listen returns a listener for Serve. The endpoint decides between plaintext and TLS; the
// webhook's kubeconfig must match. log receives failures to renew certificates; nil means no log.
func Listen(ctx context.Context, e httpserve.Endpoint, log *slog.Logger) (net.Listener, error) {
	return e.Listen(ctx, httpserve.Purpose{
		Name:           "audit batches",
		MaxConnections: maxConnections,
		Protocols:      []string{"http/1.1"},
		Log:            log,
	})
}

// Serve accepts batches on ln until ctx ends. It then lets requests in progress finish for a few
// seconds, and returns nil after all its goroutines have ended. If ln fails, it returns early with
// an error. It closes ln.
func (s *Source) Serve(ctx context.Context, ln net.Listener) error {
	return httpserve.HTTP{
		Doing: "take audit batches", Handler: s,
		Read: bodyPatience + httpserve.HeaderTimeout, Write: writeTimeout, Idle: idleTimeout, Grace: grace,
	}.Serve(ctx, ln)
}
