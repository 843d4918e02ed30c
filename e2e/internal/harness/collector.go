// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// SenderHeader is a header by which a sender may name itself (Span.Sender).
const SenderHeader = "X-Lifeline-Sender"

// Collector is an OTLP receiver on loopback that keeps what it gets.
type Collector struct {
	ptraceotlp.UnimplementedGRPCServer
	// Endpoint is host:port.
	Endpoint string

	stop   func()
	served sync.WaitGroup

	// down: requests are refused, to be repeated.
	down atomic.Bool

	mu     sync.Mutex
	spans  []*Span
	header http.Header
	// exports are the requests, if they are kept whole.
	exports []Export
	whole   bool
}

// NewCollector starts a gRPC receiver on a free port; Stop ends it.
func NewCollector() (*Collector, error) { return NewCollectorAt("127.0.0.1:0") }

// NewCollectorAt is NewCollector for an address.
func NewCollectorAt(address string) (*Collector, error) {
	server := grpc.NewServer()
	c := &Collector{stop: server.Stop}
	ptraceotlp.RegisterGRPCServer(server, c)
	return c, c.serve(address, server.Serve)
}

// NewHTTPCollector starts an HTTP receiver on a free port; Stop ends it.
func NewHTTPCollector() (*Collector, error) {
	c := new(Collector)
	mux := http.NewServeMux()
	mux.Handle("POST /v1/traces", c)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	c.stop = func() { _ = server.Close() }
	return c, c.serve("127.0.0.1:0", server.Serve)
}

func (c *Collector) serve(address string, serve func(net.Listener) error) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("cannot listen for OTLP: %w", err)
	}
	c.Endpoint = listener.Addr().String()
	c.served.Go(func() { _ = serve(listener) })
	return nil
}

// Stop ends the receiver.
func (c *Collector) Stop() {
	c.stop()
	c.served.Wait()
}

// ServeHTTP implements OTLP over HTTP.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		zipped, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = zipped
	}
	text, err := io.ReadAll(body)
	req := ptraceotlp.NewExportRequest()
	if err == nil {
		err = req.UnmarshalProto(text)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.keep(req, r.Header.Clone())
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Export implements OTLP over gRPC.
func (c *Collector) Export(ctx context.Context, req ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	header := http.Header{}
	for key, values := range md {
		header[http.CanonicalHeaderKey(key)] = values
	}
	if c.down.Load() {
		return ptraceotlp.NewExportResponse(), status.Error(codes.Unavailable, "the backend is down")
	}
	c.keep(req, header)
	return ptraceotlp.NewExportResponse(), nil
}

func (c *Collector) keep(req ptraceotlp.ExportRequest, header http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	came := time.Now()
	for s := range spans(req.Traces()) {
		s.Sender, s.Came = header.Get(SenderHeader), came
		c.spans = append(c.spans, s)
	}
	if c.whole {
		c.exports = append(c.exports, Export{came, req.Traces()})
	}
	c.header = header
}

// SetDown makes the gRPC receiver refuse what comes, to be repeated, or not.
func (c *Collector) SetDown(down bool) { c.down.Store(down) }

// Header returns the headers of the last request.
func (c *Collector) Header() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.header
}

// Spans returns the spans that came so far and that want accepts.
func (c *Collector) Spans(want func(*Span) bool) []*Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.spans), func(s *Span) bool { return !want(s) })
}

// Take returns the spans that came since the last call, and forgets them: for
// who listens for hours.
func (c *Collector) Take() []*Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.spans
	c.spans = nil
	return out
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
