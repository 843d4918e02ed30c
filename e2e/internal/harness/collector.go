// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
)

// Collector is an OTLP gRPC receiver on loopback that keeps what it gets.
type Collector struct {
	ptraceotlp.UnimplementedGRPCServer
	// Endpoint is host:port.
	Endpoint string

	server *grpc.Server
	served sync.WaitGroup

	mu    sync.Mutex
	spans []*Span
}

// NewCollector starts a receiver; Stop ends it.
func NewCollector() (*Collector, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot listen for OTLP: %w", err)
	}
	c := &Collector{Endpoint: listener.Addr().String(), server: grpc.NewServer()}
	ptraceotlp.RegisterGRPCServer(c.server, c)
	c.served.Go(func() { _ = c.server.Serve(listener) })
	return c, nil
}

// Stop ends the receiver.
func (c *Collector) Stop() {
	c.server.Stop()
	c.served.Wait()
}

// Export implements the OTLP trace service.
func (c *Collector) Export(_ context.Context, req ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans = slices.AppendSeq(c.spans, spans(req.Traces()))
	return ptraceotlp.NewExportResponse(), nil
}

// Spans returns the spans that came so far and that want accepts.
func (c *Collector) Spans(want func(*Span) bool) []*Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.spans), func(s *Span) bool { return !want(s) })
}

// Await waits until at least n spans came that want accepts.
func (c *Collector) Await(t testing.TB, n int, want func(*Span) bool) []*Span {
	t.Helper()
	var got []*Span
	Eventually(t, fmt.Sprintf("%d spans at the collector", n), func() bool {
		got = c.Spans(want)
		return len(got) >= n
	})
	return got
}
