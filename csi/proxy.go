// SPDX-License-Identifier: Apache-2.0

package csi

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
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// Proxy forwards the calls of a kubelet to a driver, and makes spans of some. Create one with New.
type Proxy struct {
	driver *grpc.ClientConn
	// socket is the path of the driver's socket.
	socket  string
	tracer  trace.Tracer
	volumes *volumes
	// name is the driver's name; nil while it is unknown.
	name atomic.Pointer[string]
	// asking is locked while a goroutine asks for the name.
	asking sync.Mutex
	// senders are the goroutines that send requests to the driver.
	senders sync.WaitGroup
}

// New returns a proxy of the driver at a Unix socket. The driver need not listen yet. The caller
// closes the proxy.
func New(driver string, provider trace.TracerProvider) (*Proxy, error) {
	// A kubelet's call fails at once while the driver is away, and the kubelet repeats it. A driver that
	// is there may be slow.
	reconnect := grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, MaxDelay: time.Second},
		MinConnectTimeout: 20 * time.Second,
	}
	connection, err := grpc.NewClient("unix:"+driver, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"), grpc.WithConnectParams(reconnect), grpc.WithDisableRetry(),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(frames{}), grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, fmt.Errorf("cannot use the socket %s of the driver: %w", driver, err)
	}
	return &Proxy{
		driver: connection, socket: driver, tracer: provider.Tracer(ScopeName), volumes: newVolumes(),
	}, nil
}

// Close ends the waiting spans, and the connection to the driver.
func (p *Proxy) Close() error {
	p.volumes.close()
	err := p.driver.Close()
	p.asking.Lock() // the end of the connection has ended the question
	defer p.asking.Unlock()
	return err
}

// Serve listens on a Unix socket until ctx ends. It replaces the socket of an earlier process. Calls
// in progress get a second to end.
func (p *Proxy) Serve(ctx context.Context, socket string) error {
	if err := p.clear(socket); err != nil {
		return fmt.Errorf("cannot replace the socket %s: %w", socket, err)
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("cannot listen on the socket %s: %w", socket, err)
	}
	server := grpc.NewServer(grpc.ForceServerCodec(frames{}), grpc.UnknownServiceHandler(p.forward),
		grpc.MaxRecvMsgSize(math.MaxInt32), grpc.WaitForHandlers(true))
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err = <-served:
		server.Stop()
	case <-ctx.Done():
		cut := time.AfterFunc(time.Second, server.Stop)
		server.GracefulStop()
		cut.Stop()
		err = <-served
	}
	p.senders.Wait()
	return err
}

// clear removes the socket of an earlier process. The driver's socket and other files stay.
func (p *Proxy) clear(socket string) error {
	ofDriver := errors.New("it is that of the driver")
	if filepath.Clean(socket) == filepath.Clean(p.socket) {
		return ofDriver
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
	if driver, err := os.Stat(p.socket); err == nil && os.SameFile(old, driver) {
		return ofDriver
	}
	return os.Remove(socket)
}

// forward forwards a call. All traced methods have one request, which is read before the span starts.
func (p *Proxy) forward(_ any, from grpc.ServerStream) error {
	ctx := from.Context()
	method, known := grpc.MethodFromServerStream(from)
	if !known {
		return status.Error(codes.Internal, "the call has no method")
	}
	p.askName()
	incoming, _ := metadata.FromIncomingContext(ctx)
	if _, traced := layouts[method]; !traced {
		return p.pass(metadata.NewOutgoingContext(ctx, incoming), method, nil, from)
	}
	var request frame
	if err := from.RecvMsg(&request); err != nil {
		return err
	}
	ctx = propagation.TraceContext{}.Extract(ctx, carrier(incoming))
	ctx, traced := p.begin(ctx, method, request.data)
	outgoing := incoming.Copy()
	propagation.TraceContext{}.Inject(ctx, carrier(outgoing))
	err := p.pass(metadata.NewOutgoingContext(ctx, outgoing), method, &request, from)
	p.end(ctx, traced, err)
	return err
}

// pass sends the requests to the driver, and its responses to the caller. first is the request that
// was read already; nil means none.
func (p *Proxy) pass(ctx context.Context, method string, first *frame, from grpc.ServerStream) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	to, err := p.driver.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	p.senders.Go(func() {
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

// askName starts to ask the driver for its name, unless that is known or was asked already. No call
// waits for the answer.
func (p *Proxy) askName() {
	if p.name.Load() != nil || !p.asking.TryLock() {
		return
	}
	go func() {
		defer p.asking.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		var response frame
		if err := p.driver.Invoke(ctx, "/csi.v1.Identity/GetPluginInfo", &frame{}, &response); err != nil {
			return
		}
		name := ""
		each(response.data, func(field protowire.Number, value []byte) {
			if field == 1 {
				name = text(value)
			}
		})
		p.name.Store(&name)
	}()
}

// carrier is the metadata of a call as a carrier of a trace context.
type carrier metadata.MD

// Get returns the first value.
func (c carrier) Get(key string) string {
	if values := metadata.MD(c).Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Set replaces the values.
func (c carrier) Set(key, value string) { metadata.MD(c).Set(key, value) }

// Keys returns all keys.
func (c carrier) Keys() []string {
	out := make([]string, 0, len(c))
	for key := range c {
		out = append(out, key)
	}
	return out
}
