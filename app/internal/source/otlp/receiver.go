// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
)

// grace limits the time for requests in progress to finish during shutdown.
const grace = 5 * time.Second

// Receiver receives OTLP. It is safe for concurrent use.
type Receiver struct {
	opts Options
	// turns has one element for each request in progress.
	turns    chan struct{}
	counters counters
	// json is held during the decoding of a request in JSON.
	json sync.Mutex

	// grpc and http are nil for an endpoint without an address.
	grpc, http net.Listener
	// grpcToken and httpToken are nil if the endpoint requires no token.
	grpcToken, httpToken *httpserve.Token
}

// New returns a Receiver that already listens, so clients can connect. It serves once Run is
// called. An error names the invalid field, address or file. A caller that does not call Run must
// call Close.
func New(ctx context.Context, o Options) (*Receiver, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.orDefaults()
	r := &Receiver{opts: o, turns: make(chan struct{}, o.MaxRequests)}
	var err error
	if r.grpcToken, err = o.GRPC.Token(httpserve.Purpose{Name: nameGRPC, Log: o.Log}); err != nil {
		return nil, err
	}
	if r.httpToken, err = o.HTTP.Token(httpserve.Purpose{Name: nameHTTP, Log: o.Log}); err != nil {
		return nil, err
	}
	if r.grpc, err = open(ctx, o, o.GRPC, nameGRPC, "h2"); err != nil {
		return nil, err
	}
	if r.http, err = open(ctx, o, o.HTTP, nameHTTP, "h2", "http/1.1"); err != nil {
		_ = r.Close() // no client has connected yet
		return nil, err
	}
	return r, nil
}

// open returns nil for an endpoint without an address.
func open(
	ctx context.Context, o Options, e httpserve.Endpoint, name string, protocols ...string,
) (net.Listener, error) {
	if e.Address == "" {
		return nil, nil
	}
	return e.Listen(
		ctx,
		httpserve.Purpose{Name: name, MaxConnections: o.MaxConnections, Protocols: protocols, Log: o.Log},
	)
}

// GRPCAddr returns the address of the gRPC listener; nil if there is none.
func (r *Receiver) GRPCAddr() net.Addr { return addressOf(r.grpc) }

// HTTPAddr returns the address of the HTTP listener; nil if there is none.
func (r *Receiver) HTTPAddr() net.Addr { return addressOf(r.http) }

func addressOf(ln net.Listener) net.Addr {
	if ln == nil {
		return nil
	}
	return ln.Addr()
}

// Run serves until ctx ends. It then accepts nothing more, gives the requests in progress a few
// seconds to finish, aborts the rest, and returns nil after all its goroutines have ended. If a
// listener fails, it returns early with an error. It may be called once.
func (r *Receiver) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 2)
	running := 0
	for _, serve := range []struct {
		ln  net.Listener
		run func(context.Context, net.Listener) error
	}{{r.grpc, r.serveGRPC}, {r.http, r.serveHTTP}} {
		if serve.ln != nil {
			running++
			go func() { ended <- serve.run(ctx, serve.ln) }()
		}
	}
	var err error
	for range running {
		err = errors.Join(err, <-ended)
		cancel() // the failure of one ends the other
	}
	return err
}

// Close stops listening. It is only for a Receiver whose Run is never called.
func (r *Receiver) Close() error {
	var err error
	for _, ln := range []net.Listener{r.grpc, r.http} {
		if ln != nil {
			err = errors.Join(err, ln.Close())
		}
	}
	return err
}
