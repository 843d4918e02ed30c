// SPDX-License-Identifier: Apache-2.0

// Package export sends spans to an OpenTelemetry backend, by OpenTelemetry's
// own OTLP clients: what those read from OTEL_EXPORTER_OTLP_* variables
// (headers, timeout, compression, certificates) is theirs to apply. Here is
// where to send, the queue that outlives a backend which is down, the outbox in a
// store that outlives the process, and what is said of spans that could not be
// sent.
package export

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// maxQueue is how many spans wait for a backend that is down. A span takes
	// about 2 KiB, so this is bounded by some 200 MiB; 1,000 Pods make about
	// 10,000 spans.
	maxQueue = 100_000
	// firstPause and maxPause are the shortest and the longest time between
	// two attempts.
	firstPause, maxPause = 200 * time.Millisecond, 5 * time.Second
)

// Options says where spans go. The zero value asks the environment.
type Options struct {
	// Endpoint is what --otlp says: http://, https://, grpc:// or grpcs://
	// with host, port and, for HTTP, the path below which /v1/traces is; or
	// host:port, in plain text. Where neither the scheme nor
	// OTEL_EXPORTER_OTLP_PROTOCOL names a protocol, port 4317 means gRPC and
	// any other HTTP. It wins over every variable that would send spans
	// elsewhere, or nowhere. Empty: the environment decides.
	Endpoint string
	// Setting is how messages name where Endpoint was set; empty: --otlp.
	Setting string
	// Cluster is the UID of the cluster that the spans tell of; may be empty.
	Cluster string
	// Warn is told once when the backend cannot be reached, and once for each
	// new reason for which it refuses spans. It may be called from another
	// goroutine, one call at a time. Nil is silent.
	Warn func(format string, args ...any)
}

// Exporter sends spans in the background, each once. A nil Exporter is valid
// and sends nothing. It is safe for concurrent use.
type Exporter struct {
	sender *sender
	cancel context.CancelFunc

	wake    chan struct{}
	closing chan struct{}
	done    chan struct{}
	close   sync.Once

	mu     sync.Mutex
	queue  []*span.Span
	seen   seen
	losses losses
	result error
}

// New starts an Exporter to the place that o or the environment names. It is
// nil, without an error, if neither names one: with no endpoint set, with
// OTEL_SDK_DISABLED=true or OTEL_TRACES_EXPORTER=none. An error names the flag
// or variable that is wrong; whether the backend is there is not tried. Close
// ends it; ctx ends it at once, and what was not sent is lost.
func New(ctx context.Context, o Options) (*Exporter, error) {
	to, err := newSender(ctx, o)
	if err != nil || to == nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	e := &Exporter{
		sender: to, cancel: cancel,
		wake: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}),
	}
	go e.run(ctx)
	return e, nil
}

// Endpoint names where spans go, without credentials; "" for a nil Exporter.
func (e *Exporter) Endpoint() string {
	if e == nil {
		return ""
	}
	return e.sender.target.name
}

// Export queues the ended spans of traces that were not queued before, and does
// not wait. Open spans are left for a later call. Spans must not change
// afterwards. After Close it does nothing.
func (e *Exporter) Export(traces []*span.Trace) {
	if e == nil {
		return
	}
	select {
	case <-e.closing:
		return
	default:
	}
	e.mu.Lock()
	for _, t := range traces {
		for _, s := range t.Spans {
			if s.Open() || !e.seen.add(key{s.TraceID, s.ID}) {
				continue
			}
			if len(e.queue) >= maxQueue {
				e.losses.add(1, errQueueFull)
				continue
			}
			e.queue = append(e.queue, s)
		}
	}
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Close sends what is queued, trying again until ctx ends, and stops. Its error
// says how many spans could not be sent, to where and why. A second call
// returns the same.
func (e *Exporter) Close(ctx context.Context) error {
	if e == nil {
		return nil
	}
	e.close.Do(func() {
		close(e.closing)
		select {
		case <-e.done:
		case <-ctx.Done():
		}
		e.cancel()
		<-e.done
		e.result = errors.Join(e.lost(), e.sender.stop(ctx))
	})
	return e.result
}

func (e *Exporter) lost() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.queue); n > 0 {
		e.losses.add(n, e.losses.last)
	}
	return e.losses.err(e.seen.total, e.sender.target)
}
