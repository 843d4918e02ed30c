// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/listen"
)

// What one listener takes.
const (
	maxConnections = 64 // API servers are few
	writeTimeout   = time.Minute
	idleTimeout    = 2 * time.Minute
	// grace is how long requests under way may take when all is to end.
	grace = 10 * time.Second
)

// Listen begins to listen, for Serve. The API server speaks plaintext or TLS to
// it, as the webhook's kubeconfig says. The log, which may be nil, is told of
// certificates that cannot be renewed.
func Listen(ctx context.Context, e listen.Endpoint, log *slog.Logger) (net.Listener, error) {
	return e.Listen(
		ctx,
		listen.Purpose{
			Name:           "audit batches",
			MaxConnections: maxConnections,
			Protocols:      []string{"http/1.1"},
			Log:            log,
		},
	)
}

// Serve takes batches on ln until ctx ends. Then it accepts no more, lets what is
// under way finish for a few seconds, and returns nil once everything that it
// started has ended; sooner, with an error, if ln fails. It closes ln.
func (s *Source) Serve(ctx context.Context, ln net.Listener) error {
	return listen.HTTP{
		Doing: "take audit batches", Handler: s,
		Read: bodyPatience + listen.HeaderTimeout, Write: writeTimeout, Idle: idleTimeout, Grace: grace,
	}.Serve(ctx, ln)
}
