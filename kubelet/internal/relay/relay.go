// SPDX-License-Identifier: Apache-2.0

// Package relay forwards gRPC calls from one Unix socket to another, with their messages as bytes.
package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Observer sees calls. Its methods run beside each other.
type Observer interface {
	// Observes reports whether Begin gets the calls of a method. Each of them has one request.
	Observes(method string) bool
	// Begin gets a call, with the context of the caller's span. It returns the context for the server, and a
	// function for the end of the call; nil means none.
	Begin(ctx context.Context, method string, request []byte) (context.Context, func(error))
}

// Relay forwards calls to a server at a Unix socket. Create one with New.
type Relay struct {
	to *grpc.ClientConn
	// socket is the path of the server's socket.
	socket   string
	observer Observer
	// senders are the goroutines that send requests to the server.
	senders sync.WaitGroup
}

// New returns a relay to the server at a socket. The server need not listen yet. The caller closes the
// relay.
func New(socket string, observer Observer) (*Relay, error) {
	// A kubelet's call fails at once while the server is away, and the kubelet repeats it. A server that
	// is there may be slow.
	reconnect := grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, MaxDelay: time.Second},
		MinConnectTimeout: 20 * time.Second,
	}
	connection, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"), grpc.WithConnectParams(reconnect), grpc.WithDisableRetry(),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(frames{}), grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, fmt.Errorf("cannot use the socket %s: %w", socket, err)
	}
	return &Relay{to: connection, socket: socket, observer: observer}, nil
}

// Close ends the connection to the server.
func (r *Relay) Close() error { return r.to.Close() }

// Call sends a request of the relay's own, and returns the response.
func (r *Relay) Call(ctx context.Context, method string, request []byte) ([]byte, error) {
	var response frame
	err := r.to.Invoke(ctx, method, &frame{request}, &response)
	return response.data, err
}

// Serve listens on a Unix socket until ctx ends. It replaces the socket of an earlier process. Calls
// in progress get a second to end.
func (r *Relay) Serve(ctx context.Context, socket string) error {
	l, err := r.Listen(ctx, socket)
	if err != nil {
		return err
	}
	return r.ServeOn(ctx, l)
}

// Listen listens on a socket for ServeOn, in place of that of an earlier process.
func (r *Relay) Listen(ctx context.Context, socket string) (net.Listener, error) {
	return Listen(ctx, socket, r.socket)
}

// ServeOn is Serve with a listener, which it closes.
func (r *Relay) ServeOn(ctx context.Context, l net.Listener) error {
	server := grpc.NewServer(grpc.ForceServerCodec(frames{}), grpc.UnknownServiceHandler(r.Handle),
		grpc.MaxRecvMsgSize(math.MaxInt32), grpc.WaitForHandlers(true))
	err := Run(ctx, server, l)
	r.senders.Wait()
	return err
}

// Run serves until ctx ends. Calls in progress get a second to end.
func Run(ctx context.Context, server *grpc.Server, l net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		server.Stop()
		return err
	case <-ctx.Done():
		cut := time.AfterFunc(time.Second, server.Stop)
		server.GracefulStop()
		cut.Stop()
		err := <-served
		if errors.Is(err, grpc.ErrServerStopped) { // ctx ended before Serve began
			return nil
		}
		return err
	}
}

// Listen listens on a Unix socket in place of that of an earlier process. It replaces neither the socket of the
// server nor another file. server may be empty.
func Listen(ctx context.Context, socket, server string) (net.Listener, error) {
	if err := clearSocket(socket, server); err != nil {
		return nil, fmt.Errorf("cannot replace the socket %s: %w", socket, err)
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on the socket %s: %w", socket, err)
	}
	return l, nil
}

func clearSocket(socket, server string) error {
	own := errors.New("the calls go to it")
	if filepath.Clean(socket) == filepath.Clean(server) {
		return own
	}
	old, err := os.Lstat(socket)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if old.Mode()&fs.ModeSocket == 0 {
		return errors.New("the file is no socket")
	}
	if of, err := os.Stat(server); err == nil && os.SameFile(old, of) {
		return own
	}
	return os.Remove(socket)
}

// Handle forwards a call. An observed method has one request, which is read before the call begins.
func (r *Relay) Handle(_ any, from grpc.ServerStream) error {
	ctx := from.Context()
	method, known := grpc.MethodFromServerStream(from)
	if !known {
		return status.Error(codes.Internal, "the call has no method")
	}
	incoming, _ := metadata.FromIncomingContext(ctx)
	if !r.observer.Observes(method) {
		return r.pass(metadata.NewOutgoingContext(ctx, incoming), method, nil, from)
	}
	var request frame
	if err := from.RecvMsg(&request); err != nil {
		return err
	}
	ctx = propagation.TraceContext{}.Extract(ctx, carrier(incoming))
	ctx, end := r.observer.Begin(ctx, method, request.data)
	outgoing := incoming.Copy()
	propagation.TraceContext{}.Inject(ctx, carrier(outgoing))
	err := r.pass(metadata.NewOutgoingContext(ctx, outgoing), method, &request, from)
	if end != nil {
		end(err)
	}
	return err
}

// pass sends the requests to the server, and its responses to the caller. first is the request that
// was read already; nil means none.
func (r *Relay) pass(ctx context.Context, method string, first *frame, from grpc.ServerStream) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	to, err := r.to.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	r.senders.Go(func() {
		err := send(to, first, from)
		if err == nil || errors.Is(err, io.EOF) || from.Context().Err() != nil {
			return // RecvMsg returns the reason
		}
		cancel(err)
	})
	header, err := to.Header()
	if err == nil && len(header) > 0 {
		if err := from.SendHeader(header); err != nil {
			return err
		}
	}
	for {
		var response frame
		err := to.RecvMsg(&response)
		if err != nil {
			from.SetTrailer(to.Trailer())
			if errors.Is(err, io.EOF) {
				return nil
			}
			// The error of the sender is the reason for the end, if it ended the call.
			cause := context.Cause(ctx)
			if from.Context().Err() == nil && cause != nil && !errors.Is(cause, context.Canceled) {
				return cause
			}
			return err
		}
		if err := from.SendMsg(&response); err != nil {
			return err
		}
	}
}

// send sends the first request, if there is one, and then all that the caller sends. It returns when
// the caller has no more, or when one of the two calls ends.
func send(to grpc.ClientStream, first *frame, from grpc.ServerStream) error {
	if first != nil {
		if err := to.SendMsg(first); err != nil {
			return err
		}
	}
	for {
		var request frame
		err := from.RecvMsg(&request)
		if errors.Is(err, io.EOF) {
			return to.CloseSend()
		}
		if err != nil {
			return err
		}
		if err := to.SendMsg(&request); err != nil {
			return err
		}
	}
}
