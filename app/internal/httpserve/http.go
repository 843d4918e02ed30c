// SPDX-License-Identifier: Apache-2.0

package httpserve

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// HeaderTimeout and MaxHeader limit the request line and header of every HTTP request: the time to
// receive them, and their size in bytes.
const (
	HeaderTimeout = 5 * time.Second
	MaxHeader     = 16 << 10
)

// HTTP serves requests on a listener.
type HTTP struct {
	// Doing is the work of the handler, for errors: "take audit batches".
	Doing   string
	Handler http.Handler
	// Read limits the time to receive a whole request, and Write the time until its response is
	// written; 0 means no limit. Idle limits the time of a connection between requests; 0 means
	// Read.
	Read, Write, Idle time.Duration
	// Grace is the time for running requests to finish at shutdown; 0 means none.
	Grace time.Duration
	// Protocols are the versions of HTTP to serve. Nil means HTTP/1, and over TLS also HTTP/2.
	Protocols *http.Protocols
	// HTTP2 has the limits of HTTP/2 connections; nil means Go's defaults.
	HTTP2 *http.HTTP2Config
	// Ending is called at the start of a shutdown, to end requests that would not end by
	// themselves; may be nil.
	Ending func() error
	// ErrorLog receives connection errors, such as failed handshakes. Nil means the log package's
	// standard logger.
	ErrorLog *log.Logger
}

// Serve serves requests on ln until ctx ends or ln fails, and then shuts down: it accepts no
// connection, gives running requests the time Grace, and closes the rest. It returns after all its
// goroutines have ended. Its error is that of ln or Ending. Contexts of requests outlive ctx by at
// most Grace. Serve closes ln.
func (h HTTP) Serve(ctx context.Context, ln net.Listener) error {
	var handlers sync.WaitGroup
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handlers.Add(1)
			defer handlers.Done()
			h.Handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: HeaderTimeout,
		MaxHeaderBytes:    MaxHeader,
		ReadTimeout:       h.Read,
		WriteTimeout:      h.Write,
		IdleTimeout:       h.Idle,
		Protocols:         h.Protocols,
		HTTP2:             h.HTTP2,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          h.ErrorLog,
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	var err error
	select {
	case err = <-failed:
		err = fmt.Errorf("cannot %s on %s any more: %w", h.Doing, ln.Addr(), err)
		failed <- nil // to be received below
	case <-ctx.Done():
	}
	if h.Ending != nil {
		err = errors.Join(err, h.Ending())
	}
	late, done := context.WithTimeout(base, h.Grace)
	defer done()
	if srv.Shutdown(late) != nil {
		_ = srv.Close() // the remaining requests have used up their grace
	}
	cancel()
	if ended := <-failed; ended != nil && !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("cannot %s on %s during shutdown: %w", h.Doing, ln.Addr(), ended))
	}
	handlers.Wait()
	return err
}
