// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// maxBatch is how many spans go in one request.
	maxBatch = 512
	// maxBytes is how large a request may be: half of what a gRPC server
	// accepts by default.
	maxBytes = 2 << 20
)

// run sends what is queued until Close has been called and the queue is empty,
// or ctx ends.
func (e *Exporter) run(ctx context.Context) {
	defer close(e.done)
	pause := firstPause
	warned := false
	for {
		batch, request := e.next()
		if len(batch) == 0 {
			if !e.wait(ctx) {
				return
			}
			continue
		}
		verdict := judge(e.client.UploadTraces(ctx, request))
		if verdict.again {
			if ctx.Err() != nil {
				return // it failed because it was ended
			}
			e.mu.Lock()
			e.losses.last = verdict.reason
			e.mu.Unlock()
			if !warned {
				warned = true
				e.opts.Warn("cannot send spans to %s (%s) yet: %v", e.target.name, e.target.origin, verdict.reason)
			}
			e.rest(ctx, pause)
			pause = min(2*pause, maxPause)
			continue
		}
		pause, warned = firstPause, false
		e.sent(len(batch), verdict)
	}
}

// next returns the oldest queued spans, and the request that carries them. They
// stay in the queue.
func (e *Exporter) next() ([]*span.Span, []*tracepb.ResourceSpans) {
	e.mu.Lock()
	batch := e.queue[:min(len(e.queue), maxBatch)]
	e.mu.Unlock()
	for {
		request := span.ToOTLP([]*span.Trace{{Spans: batch}}, e.opts.Cluster)
		if len(batch) <= 1 || proto.Size(&tracepb.TracesData{ResourceSpans: request}) <= maxBytes {
			return batch, request
		}
		batch = batch[:len(batch)/2]
	}
}

// sent takes a batch off the queue that the backend has answered for.
func (e *Exporter) sent(n int, v verdict) {
	e.mu.Lock()
	clear(e.queue[:n]) // the array may live on; the spans need not
	e.queue = e.queue[n:]
	if len(e.queue) == 0 {
		e.queue = nil
	}
	refused := v.refused
	if refused < 0 {
		refused = n
	}
	news := refused > 0 && e.losses.add(min(refused, n), v.reason)
	e.mu.Unlock()
	if news {
		e.opts.Warn("%s (%s) refused %d of %d spans: %v", e.target.name, e.target.origin, min(refused, n), n, v.reason)
	}
}

// wait blocks until there may be something to send. It is false when there will
// be nothing more.
func (e *Exporter) wait(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-e.wake:
		return true
	case <-e.closing:
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.queue) > 0
}

// rest pauses between two attempts. Close cuts the pause short and bounds those
// after it, so that what little time is left is used.
func (e *Exporter) rest(ctx context.Context, pause time.Duration) {
	closing := e.closing
	select {
	case <-closing:
		closing, pause = nil, min(pause, firstPause)
	default:
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-closing:
	}
}
