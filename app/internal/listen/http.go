// SPDX-License-Identifier: Apache-2.0

package listen

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

// What every request over HTTP is held to: how long its line and header may take
// to come, and how many bytes they may have.
const (
	HeaderTimeout = 5 * time.Second
	MaxHeader     = 16 << 10
)

// HTTP answers requests on a listener. Each of the times may be 0 for no bound but
// Grace.
type HTTP struct {
	// Doing is what it does, as an error says it: "take audit batches".
	Doing   string
	Handler http.Handler
	// Read bounds how long a request may take to come as a whole, Write how long
	// until it is answered, and Idle ends connections on which nothing is asked.
	Read, Write, Idle time.Duration
	// Grace is how long requests under way may take when all is to end.
	Grace time.Duration
	// Protocols are the versions of HTTP that are spoken; nil for version 1, and over
	// TLS for version 2 as well.
	Protocols *http.Protocols
	// HTTP2 bounds the connections that speak it; nil for Go's own bounds.
	HTTP2 *http.HTTP2Config
	// Ending is called when all is to end, before anybody is waited for, to end
	// what would not end by itself; may be nil.
	Ending func() error
	// ErrorLog is told of clients that do not shake hands, and the like; nil for
	// the log package's own.
	ErrorLog *log.Logger
}

// Serve answers requests on ln until ctx ends. Then it accepts no more, lets
// requests under way finish within Grace, ends what is left, and returns nil once
// everything that it started has ended; sooner, with an error, if ln fails. The
// contexts of requests outlast ctx by Grace. It closes ln.
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
		_ = srv.Close() // what is left had its time
	}
	cancel()
	if ended := <-failed; ended != nil && !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("cannot %s on %s until the end: %w", h.Doing, ln.Addr(), ended))
	}
	handlers.Wait()
	return err
}
