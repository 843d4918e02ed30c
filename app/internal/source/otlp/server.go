// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
)

const (
	// maxStreams limits the requests of one HTTP/2 connection. window limits the unread bytes of
	// each.
	maxStreams = 8
	window     = 64 << 10
	// idleTimeout closes unused connections; clients can reconnect. pingAfter and pingTimeout
	// detect clients that are gone.
	idleTimeout = 5 * time.Minute
	pingAfter   = time.Minute
	pingTimeout = 20 * time.Second
)

// serveGRPC serves until ctx ends; see Run. It closes ln.
func (r *Receiver) serveGRPC(ctx context.Context, ln net.Listener) error {
	second := new(http.Protocols)
	second.SetHTTP2(true)
	second.SetUnencryptedHTTP2(true)
	return r.serve(ctx, ln, nameGRPC, second, r.serveCall)
}

// serveHTTP serves OTLP over HTTP, like serveGRPC.
func (r *Receiver) serveHTTP(ctx context.Context, ln net.Listener) error {
	return r.serve(ctx, ln, nameHTTP, nil, r.serveRequest)
}

func (r *Receiver) serve(
	ctx context.Context, ln net.Listener, name string, protocols *http.Protocols, answer http.HandlerFunc,
) error {
	return httpserve.HTTP{
		Doing:     "receive " + name,
		Handler:   answer,
		Read:      httpserve.HeaderTimeout + r.opts.Timeout,
		Write:     httpserve.HeaderTimeout + 2*r.opts.Timeout,
		Idle:      idleTimeout,
		Grace:     grace,
		Protocols: protocols,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:      maxStreams,
			MaxReceiveBufferPerStream: window,
			SendPingTimeout:           pingAfter,
			PingTimeout:               pingTimeout,
		},
		ErrorLog: slog.NewLogLogger(r.opts.Log.Handler(), slog.LevelDebug), // failed TLS handshakes
	}.Serve(ctx, ln)
}
