// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/listen"
)

// grace is how long requests under way may take when all is to end.
const grace = 5 * time.Second

// Receiver receives OTLP. It is safe for concurrent use.
type Receiver struct {
	opts Options
	// turns has a token for each request under way.
	turns    chan struct{}
	counters counters
	// json is held while a request in JSON is decoded.
	json sync.Mutex

	// grpc and http are nil for nowhere.
	grpc, http net.Listener
	// grpcToken and httpToken are nil where everybody may send.
	grpcToken, httpToken *listen.Token
}

// New returns a Receiver that listens already, so that others can connect, and
// serves as soon as Run is called. An error names what is wrong with o, or the
// address or the file that cannot be used. Who does not call Run calls Close.
func New(ctx context.Context, o Options) (*Receiver, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.orDefaults()
	r := &Receiver{opts: o, turns: make(chan struct{}, o.MaxRequests)}
	var err error
	if r.grpcToken, err = o.GRPC.Token(listen.Purpose{Name: nameGRPC, Log: o.Log}); err != nil {
		return nil, err
	}
	if r.httpToken, err = o.HTTP.Token(listen.Purpose{Name: nameHTTP, Log: o.Log}); err != nil {
		return nil, err
	}
	if r.grpc, err = open(ctx, o, o.GRPC, nameGRPC, "h2"); err != nil {
		return nil, err
	}
	if r.http, err = open(ctx, o, o.HTTP, nameHTTP, "h2", "http/1.1"); err != nil {
		_ = r.Close() // nobody has connected
		return nil, err
	}
	return r, nil
}

// open returns nil for an endpoint without an address.
func open(ctx context.Context, o Options, e listen.Endpoint, name string, protocols ...string) (net.Listener, error) {
	if e.Address == "" {
		return nil, nil
	}
	return e.Listen(ctx, listen.Purpose{Name: name, MaxConnections: o.MaxConnections, Protocols: protocols, Log: o.Log})
}

// GRPCAddr and HTTPAddr are where the Receiver listens; nil for nowhere.
func (r *Receiver) GRPCAddr() net.Addr { return addressOf(r.grpc) }

// HTTPAddr is as GRPCAddr.
func (r *Receiver) HTTPAddr() net.Addr { return addressOf(r.http) }

func addressOf(ln net.Listener) net.Addr {
	if ln == nil {
		return nil
	}
	return ln.Addr()
}

// Run serves until ctx ends. Then it accepts nothing more, gives requests under
// way a few seconds to finish, ends what is left, and returns nil once everything
// that it started has ended; sooner, with an error, if a listener fails. It is
// called once.
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
		cancel() // the first that fails ends the other
	}
	return err
}

// Close stops listening. It is for a Receiver that does not Run.
func (r *Receiver) Close() error {
	var err error
	for _, ln := range []net.Listener{r.grpc, r.http} {
		if ln != nil {
			err = errors.Join(err, ln.Close())
		}
	}
	return err
}
