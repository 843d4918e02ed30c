// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

func TestMain(m *testing.M) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OTEL_") {
			os.Unsetenv(name) // exporters would use it
		}
	}
	goleak.VerifyTestMain(m)
}

// epoch is the time of the samples.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// basket is a Sink that collects its spans.
type basket struct {
	// refuse is the number of calls that fail first.
	mu     sync.Mutex
	refuse int
	calls  int
	spans  map[trace.SpanID]*span.Span
	twice  int
}

var errFull = errors.New("full: internal")

func (b *basket) Accept(_ context.Context, spans []*span.Span) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if b.refuse > 0 {
		b.refuse--
		return errFull
	}
	if b.spans == nil {
		b.spans = map[trace.SpanID]*span.Span{}
	}
	for _, s := range spans {
		if b.spans[s.ID] != nil {
			b.twice++
		}
		b.spans[s.ID] = s
	}
	return nil
}

// has returns the number of distinct spans, and of repeated ones.
func (b *basket) has() (spans, twice int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.spans), b.twice
}

// one returns the span with that name; nil if there is none.
func (b *basket) one(name string) *span.Span {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.spans {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// started runs a Receiver until the test ends or stop is called. By default it listens on free
// ports of loopback.
func started(t *testing.T, o Options) (r *Receiver, stop func()) {
	t.Helper()
	if o.Sink == nil {
		o.Sink = &basket{}
	}
	if o.GRPC.Address == "" && o.HTTP.Address == "" {
		o.GRPC.Address, o.HTTP.Address = "127.0.0.1:0", "localhost:0"
	}
	r, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return r, stop
}

// sample returns a request of n spans in protobuf and in JSON.
func sample(t testing.TB, n int) (wire, text []byte) {
	t.Helper()
	return encoded(t, requests(n))
}

func encoded(t testing.TB, req ptraceotlp.ExportRequest) (wire, text []byte) {
	t.Helper()
	wire, err := req.MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	text, err = req.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return wire, text
}

func zipped(t testing.TB, raw []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// client returns an HTTP client whose connections close with the test.
func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
