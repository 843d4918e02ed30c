// SPDX-License-Identifier: Apache-2.0

package tracing_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// receiver is an OTLP backend on loopback that counts connections.
type receiver struct {
	collectorpb.UnimplementedTraceServiceServer
	net.Listener
	accepted chan net.Addr // remote addresses of new connections

	mu       sync.Mutex
	spans    []*tracepb.Span
	resource *resourcepb.Resource
}

func newReceiver(t *testing.T, options ...grpc.ServerOption) *receiver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{Listener: l, accepted: make(chan net.Addr, 1000)}
	server := grpc.NewServer(options...)
	collectorpb.RegisterTraceServiceServer(server, r)
	served := make(chan error, 1)
	go func() { served <- server.Serve(r) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return r
}

// Accept records the remote address.
func (r *receiver) Accept() (net.Conn, error) {
	c, err := r.Listener.Accept()
	if err == nil {
		r.accepted <- c.RemoteAddr()
	}
	return c, err
}

// connections returns the number of connections since the last call. It connects itself: earlier
// connections are then accepted.
func (r *receiver) connections(t *testing.T) int {
	t.Helper()
	c, err := net.Dial("tcp", r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for n := 0; ; n++ {
		if (<-r.accepted).String() == c.LocalAddr().String() {
			return n
		}
	}
}

// Export stores the received spans.
func (r *receiver) Export(
	_ context.Context,
	request *collectorpb.ExportTraceServiceRequest,
) (*collectorpb.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rs := range request.GetResourceSpans() {
		r.resource = rs.GetResource()
		for _, ss := range rs.GetScopeSpans() {
			r.spans = append(r.spans, ss.GetSpans()...)
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func (r *receiver) endpoint() *string {
	address := r.Addr().String()
	return &address
}

// names returns the names of the received spans, sorted.
func (r *receiver) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, s := range r.spans {
		names = append(names, s.GetName())
	}
	slices.Sort(names)
	return names
}
