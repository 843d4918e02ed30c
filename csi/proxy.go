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
	driver  *grpc.ClientConn
	tracer  trace.Tracer
	volumes *volumes
	name    atomic.Pointer[string]
}

// New returns a proxy of the driver at a Unix socket. The driver need not listen yet. The caller
// closes the proxy.
func New(driver string, provider trace.TracerProvider) (*Proxy, error) {
	// A kubelet's call fails at once while the driver is away, and the kubelet repeats it.
	reconnect := grpc.ConnectParams{
		Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, MaxDelay: time.Second},
	}
	connection, err := grpc.NewClient("unix:"+driver, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"), grpc.WithConnectParams(reconnect), grpc.WithDisableRetry(),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(frames{}), grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, fmt.Errorf("cannot use the socket %s of the driver: %w", driver, err)
	}
	return &Proxy{driver: connection, tracer: provider.Tracer(ScopeName), volumes: newVolumes()}, nil
}

// Close ends the waiting spans, and the connection to the driver.
func (p *Proxy) Close() error {
	p.volumes.close()
	return p.driver.Close()
}

// Serve listens on a Unix socket until ctx ends. It replaces the socket of an earlier process. Calls
// in progress get a second to end.
func (p *Proxy) Serve(ctx context.Context, socket string) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot replace the socket %s: %w", socket, err)
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("cannot listen on the socket %s: %w", socket, err)
	}
	server := grpc.NewServer(grpc.ForceServerCodec(frames{}), grpc.UnknownServiceHandler(p.forward),
		grpc.MaxRecvMsgSize(math.MaxInt32))
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err = <-served:
	case <-ctx.Done():
		cut := time.AfterFunc(time.Second, server.Stop)
		server.GracefulStop()
		cut.Stop()
		err = <-served
	}
	return err
}

// forward forwards a call with one request. All calls of CSI to a driver on a node have one.
func (p *Proxy) forward(_ any, from grpc.ServerStream) error {
	ctx := from.Context()
	method, known := grpc.MethodFromServerStream(from)
	if !known {
		return status.Error(codes.Internal, "the call has no method")
	}
	var request frame
	if err := from.RecvMsg(&request); err != nil {
		return err
	}
	incoming, _ := metadata.FromIncomingContext(ctx)
	ctx = propagation.TraceContext{}.Extract(ctx, carrier(incoming))
	ctx, traced := p.begin(ctx, method, request.data)
	outgoing := incoming.Copy()
	propagation.TraceContext{}.Inject(ctx, carrier(outgoing))
	err := p.pass(metadata.NewOutgoingContext(ctx, outgoing), method, &request, from)
	p.end(ctx, traced, err)
	return err
}

// pass sends the request to the driver, and its responses to the caller.
func (p *Proxy) pass(ctx context.Context, method string, request *frame, from grpc.ServerStream) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	to, err := p.driver.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		return err
	}
	if err := to.SendMsg(request); err != nil && !errors.Is(err, io.EOF) { // EOF: RecvMsg has the reason
		return err
	}
	if err := to.CloseSend(); err != nil {
		return err
	}
	header, err := to.Header()
	if err == nil && len(header) > 0 {
		if err := from.SetHeader(header); err != nil {
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
			return err
		}
		if err := from.SendMsg(&response); err != nil {
			return err
		}
	}
}

// driverName returns the name of the driver, or an empty string while that is unknown. It asks the
// driver once.
func (p *Proxy) driverName() string {
	if name := p.name.Load(); name != nil {
		return *name
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var response frame
	if err := p.driver.Invoke(ctx, "/csi.v1.Identity/GetPluginInfo", &frame{}, &response); err != nil {
		return ""
	}
	name := ""
	each(response.data, func(field protowire.Number, value []byte) {
		if field == 1 {
			name = text(value)
		}
	})
	p.name.Store(&name)
	return name
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
