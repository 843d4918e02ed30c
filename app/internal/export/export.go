// SPDX-License-Identifier: Apache-2.0

// Package export sends spans to an OpenTelemetry backend through OpenTelemetry's OTLP clients. The
// clients apply the OTEL_EXPORTER_OTLP_* variables for headers, timeout, compression and
// certificates. The package resolves the endpoint and reports lost spans. Exporter's queue outlives
// an outage of the backend. Outbox's entries in a journal also outlive the process.
package export

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// maxQueue limits the spans that wait for an unreachable backend. A span takes about 2 KiB, so
	// the limit is some 200 MiB; 1,000 Pods make about 10,000 spans.
	maxQueue = 100_000
	// firstPause and maxPause are the shortest and the longest time between two attempts.
	firstPause, maxPause = 200 * time.Millisecond, 5 * time.Second
)

// Options configures the destination of spans. The zero value uses the environment.
type Options struct {
	// Endpoint is the value of --otlp. It is a URL with the scheme http, https, grpc or grpcs, a
	// host, a port and, for HTTP, the path above /v1/traces. It may also be host:port, in plain
	// text. If neither the scheme nor OTEL_EXPORTER_OTLP_PROTOCOL names a protocol, port 4317 means
	// gRPC and any other HTTP. Endpoint overrides every variable with another destination or none.
	// If it is empty, the environment decides.
	Endpoint string
	// Setting is the name of Endpoint's setting in messages; empty means --otlp.
	Setting string
	// Text sends messages as they are. Otherwise text of unknown form is withheld.
	Text bool
	// Cluster is the UID of the spans' cluster; may be empty.
	Cluster string
	// Warn is called once when the backend is unreachable, and once for each new reason of refused
	// spans. Calls may come from another goroutine, one at a time. Nil means no warnings.
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

// New starts an Exporter to the destination in o or the environment. It returns nil without an
// error if there is none: no endpoint, OTEL_SDK_DISABLED=true or OTEL_TRACES_EXPORTER=none. An
// error names the wrong flag or variable. New does not contact the backend. Close stops the
// Exporter. The end of ctx stops it at once, and unsent spans are lost.
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

// Endpoint returns the destination without credentials; "" for a nil Exporter.
func (e *Exporter) Endpoint() string {
	if e == nil {
		return ""
	}
	return e.sender.target.name
}

// Export queues the ended spans of traces, without those queued before, and does not block. Open
// spans are left for a later call. Spans must not change afterwards. After Close it does nothing.
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
				e.losses.count(1, errQueueFull)
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

// Close sends the queued spans, with retries until ctx ends, and stops. Its error has the number of
// unsent spans, the destination and the reason. A second call returns the same error.
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
		e.losses.count(n, e.losses.last)
	}
	return e.losses.err(e.seen.total, e.sender.target)
}
